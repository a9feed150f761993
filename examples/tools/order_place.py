"""Places an order with a supplier: an effect that must not happen twice."""

import json
import os

METADATA = {
    "name": "order_place",
    "function": "place_order",
    "description": "Places one order with a supplier and returns its number. The supplier is a file of orders in the "
    "workspace, examples/out/orders.jsonl; it knows an order again by its key.",
    # It costs money, so a plan places orders only when the user named the tool: haft run --allow order_place.
    "dangerous": True,
    # The supplier answers a repeat of the same order with the order that it has, so haft may repeat a call.
    "idempotent": True,
    # The function gets the parameter context, whose idempotency_key is the same however often haft makes this call.
    "context": True,
    "requires": {"fs": {"write": ["examples/out/**"]}},
    "domain": "orders",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "supplier": {"type": "string", "minLength": 1},
            "lines": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "product": {"type": "string", "minLength": 1},
                        "quantity": {"type": "integer", "minimum": 1},
                    },
                    "required": ["product", "quantity"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["supplier", "lines"],
    },
}

ORDERS = "examples/out/orders.jsonl"


def place_order(supplier: str, lines: list, context):
    key = context["idempotency_key"]
    orders = read_orders()
    for order in orders:
        if order["key"] == key:
            return {"order": order["order"], "is_new": False}
    order = {"order": len(orders) + 1, "key": key, "supplier": supplier, "lines": lines}
    with open(ORDERS, "a", encoding="utf-8") as file:
        file.write(json.dumps(order) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return {"order": order["order"], "is_new": True}


def read_orders():
    try:
        with open(ORDERS, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []
