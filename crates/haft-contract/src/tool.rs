//! A tool: its contract and the code behind it.

use std::future::Future;
use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::alias::{ParameterAlias, UsedAlias, advice_about, resolve_aliases};
use crate::schema::{empty_object, schema_of};
use crate::{
    Access, BoxFuture, ConnectionStore, Contract, Cx, Effect, ErrorCode, IdError, IntoOutput,
    ListingCondition, OutputLimit, RequirementSet, ShellParameter, ToolError, ToolId, ToolKind,
    ToolMetadata, ToolOrigin, ToolOutput,
};

type Accesses = dyn Fn(&Value) -> Result<Vec<Access>, ToolError> + Send + Sync;
type Parse = dyn Fn(&Value) -> Result<(), ToolError> + Send + Sync;
type TimeoutMs = dyn Fn(&Value) -> Option<u64> + Send + Sync;
type Probe = dyn Fn(Value, Cx) -> BoxFuture<'static, Result<ProbeResult<ToolOutput>, ToolError>>
    + Send
    + Sync;
type Execute = dyn Fn(Value, Cx) -> Result<CallWork, ToolError> + Send + Sync;
type Finish = Box<dyn FnOnce() -> Result<ToolOutput, ToolError> + Send>;

/// A call that was begun: either a future, or work that blocks and belongs on a separate thread.
enum CallWork {
    Async(BoxFuture<'static, Result<ToolOutput, ToolError>>),
    Blocking(Finish),
}

/// The result of a probe for a call that began and whose end is unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeResult<T> {
    /// It happened; this is what it would have answered.
    Happened(T),
    /// It did not happen, and is safe to execute.
    NotHappened,
    /// It cannot be told.
    Unknown,
}

/// A tool that can be registered and called. Made by [`Tool::new`]; cloning shares the code.
#[derive(Clone)]
pub struct Tool {
    contract: Arc<Contract>,
    accesses: Arc<Accesses>,
    timeout_ms: Arc<TimeoutMs>,
    parse: Arc<Parse>,
    execute: Arc<Execute>,
    probe: Option<Arc<Probe>>,
    uses_context: bool,
    has_generated_schema: bool,
    aliases: Vec<ParameterAlias>,
    definition_error: Option<DefinitionError>,
}

/// Says why a tool's definition cannot be used. Registration reports it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The id is not valid.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The input is not an object of parameters.
    #[error(
        "tool {0} takes no object: its input must be a struct with named fields, which are the parameters"
    )]
    NotAnObject(ToolId),
    /// A parameter that should be kept out of the journal does not exist.
    #[error("tool {tool} keeps parameter {name:?} out of the journal, but has no such parameter")]
    NotAParameter {
        /// The tool.
        tool: ToolId,
        /// The name that no parameter has.
        name: String,
    },
}

/// A tool in the making.
pub struct ToolBuilder {
    contract: Contract,
    accesses: Arc<Accesses>,
    timeout_ms: Arc<TimeoutMs>,
    probe: Option<Arc<Probe>>,
    aliases: Vec<ParameterAlias>,
    definition_error: Option<DefinitionError>,
}

impl Tool {
    /// Begins the definition of a tool. An id that is not valid is reported when the tool is registered.
    #[expect(clippy::new_ret_no_self, reason = "the builder ends in a tool")]
    pub fn new(id: &str) -> ToolBuilder {
        let (id, definition_error) = match ToolId::parse(id) {
            Ok(id) => (id, None),
            Err(err) => (ToolId::placeholder(), Some(DefinitionError::Id(err))),
        };
        ToolBuilder {
            contract: Contract {
                description: id.to_string(),
                id,
                parameters: empty_object(),
                output: None,
                example_output: None,
                requires: RequirementSet::default(),
                effect: Effect::Read,
                dangerous: false,
                origin: ToolOrigin::default(),
                kind: ToolKind::Other,
                output_limit: OutputLimit::default(),
                redacted: Vec::new(),
                accepts_key: false,
                function: None,
                shell_line: None,
                calls_at_once_max: None,
                only_changes_files: false,
                delegates: false,
                is_internal: false,
                only_if_named: false,
                connection_store: None,
                listed_if: ListingCondition::Always,
            },
            accesses: Arc::new(|_| Ok(Vec::new())),
            timeout_ms: Arc::new(|_| None),
            probe: None,
            aliases: Vec::new(),
            definition_error,
        }
    }

    /// Returns what the tool publishes, or why its definition cannot be used.
    pub fn valid_contract(&self) -> Result<&Arc<Contract>, DefinitionError> {
        match &self.definition_error {
            Some(err) => Err(err.clone()),
            None => Ok(&self.contract),
        }
    }

    /// Returns the part of the contract that drives retries (`getDefinedToolMetadata`).
    pub fn metadata(&self) -> ToolMetadata {
        self.contract.metadata()
    }

    /// Returns whether the code takes the context. A tool of [`Effect::Once`] that does not cannot hand on
    /// its idempotency key, which is nearly always a mistake.
    pub fn uses_context(&self) -> bool {
        self.uses_context
    }

    /// Moves the values of parameters that have other names to the tool's own parameters, and returns the names that were used.
    pub fn resolve_aliases(&self, input: &mut Value) -> Vec<UsedAlias> {
        resolve_aliases(&self.aliases, input)
    }

    /// Returns the advice about a parameter that models know from other agents and that this tool does not have.
    pub fn advice_about(&self, parameter: &str) -> Option<&'static str> {
        advice_about(&self.aliases, parameter)
    }

    /// Returns why the code could not take `input`, which a schema can leave open: a number too large for its type.
    pub fn parse(&self, input: &Value) -> Result<(), ToolError> {
        (self.parse)(input)
    }

    /// Returns the concrete accesses that `input` implies. Pure: the same for the same input.
    pub fn accesses(&self, input: &Value) -> Result<Vec<Access>, ToolError> {
        (self.accesses)(input)
    }

    /// Returns the time that `input` itself asks for, in milliseconds.
    pub fn timeout_ms(&self, input: &Value) -> Option<u64> {
        (self.timeout_ms)(input)
    }

    /// Returns whether the schema of the input was generated from a Rust type.
    pub fn has_generated_schema(&self) -> bool {
        self.has_generated_schema
    }

    /// Returns whether the tool can find out if a call happened.
    pub fn has_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// Finds out whether a call with this input and these keys happened. Nothing is checked, journaled or cut.
    pub async fn probe_unguarded(
        &self,
        input: Value,
        cx: Cx,
    ) -> Result<ProbeResult<ToolOutput>, ToolError> {
        match &self.probe {
            Some(probe) => probe(input, cx).await,
            None => Ok(ProbeResult::Unknown),
        }
    }

    /// Calls the implementation directly. Nothing is checked, journaled or cut: that is the pipeline's work. The code that
    /// made the [`Cx`] has decided what the call may reach.
    pub async fn call_unguarded(&self, input: Value, cx: Cx) -> Result<ToolOutput, ToolError> {
        match (self.execute)(input, cx)? {
            CallWork::Async(future) => future.await,
            CallWork::Blocking(finish) => match tokio::task::spawn_blocking(finish).await {
                Ok(result) => result,
                Err(err) => match err.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => {
                        Err(ToolError::new(ErrorCode::ToolFailed, "the runtime is shutting down"))
                    }
                },
            },
        }
    }
}

impl ToolBuilder {
    /// Says what the tool is for, in words that a model reads to decide whether to call it.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.contract.description = text.into();
        self
    }

    /// Says what a call does to the world. The default is [`Effect::Read`].
    pub fn effect(mut self, effect: Effect) -> Self {
        self.contract.effect = effect;
        self
    }

    /// Says how an editor draws the tool. The default is [`ToolKind::Other`].
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.contract.kind = kind;
        self
    }

    /// Makes plans run the tool only when the user named it.
    pub fn dangerous(mut self) -> Self {
        self.contract.dangerous = true;
        self
    }

    /// Says what the tool needs of the outside. The default is nothing.
    pub fn requires(mut self, requires: RequirementSet) -> Self {
        self.contract.requires = requires;
        self
    }

    /// Says where the output is cut. The default is 200,000 bytes.
    pub fn output_limit(mut self, limit: OutputLimit) -> Self {
        self.contract.output_limit = limit;
        self
    }

    /// Promises a schema of the output's data, made from a type.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.contract.output = Some(schema_of::<T>());
        self
    }

    /// Gives an output as an example. A model that makes a plan refers to parts of outputs before it has seen one, and the
    /// contract promises no form if the output may be cut.
    pub fn example_output(mut self, data: Value) -> Self {
        self.contract.example_output = Some(data);
        self
    }

    /// Adds other names of parameters. They are accepted and not published, and calls are recorded with the tool's own names.
    pub fn aliases(mut self, aliases: &[ParameterAlias]) -> Self {
        self.aliases.extend_from_slice(aliases);
        self
    }

    /// Keeps input fields out of the journal: only their size and SHA-256 are stored.
    pub fn redacted(mut self, fields: &[&str]) -> Self {
        self.contract.redacted = fields.iter().map(|&field| field.to_owned()).collect();
        self
    }

    /// Declares that the tool hands its idempotency key to a service that deduplicates by it.
    pub fn accepts_key(mut self) -> Self {
        self.contract.accepts_key = true;
        self
    }

    /// Names the function behind the tool. A plan may name it, too, and then it must be this one.
    pub fn function(mut self, name: impl Into<String>) -> Self {
        self.contract.function = Some(name.into());
        self
    }

    /// Says where the tool comes from, if not from Rust.
    pub fn origin(mut self, origin: ToolOrigin) -> Self {
        self.contract.origin = origin;
        self
    }

    /// Declares that a shell reads a parameter. A plan does not put outputs of other tools into it.
    pub fn shell_line(mut self, line: ShellParameter) -> Self {
        self.contract.shell_line = Some(line);
        self
    }

    /// Declares that the tool works on so many calls at the same time, and that further ones wait for it.
    pub fn calls_at_once_max(mut self, calls: NonZeroU32) -> Self {
        self.contract.calls_at_once_max = Some(calls);
        self
    }

    /// Declares that one [`Fs::apply`](crate::Fs::apply), or none, is all that a call does to the world. After a crash the
    /// files then tell whether the call happened, without a question to a person.
    pub fn only_changes_files(mut self) -> Self {
        self.contract.only_changes_files = true;
        self
    }

    /// Declares that all that a call does is to have [subagents](Cx::subagents) do something. An agent makes such calls beside
    /// each other, whatever their effect: those of the subagents are judged and recorded one by one.
    pub fn delegates(mut self) -> Self {
        self.contract.delegates = true;
        self
    }

    /// Says when the tool is listed to a model. The default is always.
    pub fn listed_if(mut self, condition: ListingCondition) -> Self {
        self.contract.listed_if = condition;
        self
    }

    /// Declares that only haft calls the tool, such as a driver of plans. Agents neither see nor call it.
    pub fn internal(mut self) -> Self {
        self.contract.is_internal = true;
        self
    }

    /// Declares that only agents have the tool whose list of tools names it.
    pub fn only_if_named(mut self) -> Self {
        self.contract.only_if_named = true;
        self
    }

    /// Declares what calls of the tool leave in the connection.
    pub fn keeps(mut self, store: ConnectionStore) -> Self {
        self.contract.connection_store = Some(store);
        self
    }

    /// Says which concrete accesses an input implies. Must be pure. The default is none.
    pub fn accesses<A, F>(self, accesses: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(&A) -> Vec<Access> + Send + Sync + 'static,
    {
        self.try_accesses(move |args| Ok(accesses(args)))
    }

    /// Says which concrete accesses an input implies, where an input may not say it. Must be pure. An error refuses
    /// the call.
    pub fn try_accesses<A, F>(mut self, accesses: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(&A) -> Result<Vec<Access>, ToolError> + Send + Sync + 'static,
    {
        self.accesses = Arc::new(move |input| accesses(&parse_input(input)?));
        self
    }

    /// Says how an input asks for a separate time, in milliseconds. The default is that it cannot.
    pub fn timeout_ms<A, F>(mut self, timeout_ms: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(&A) -> Option<u64> + Send + Sync + 'static,
    {
        self.timeout_ms =
            Arc::new(move |input| parse_input(input).ok().and_then(|args: A| timeout_ms(&args)));
        self
    }

    /// Says how to find out whether a call happened whose end is unknown, because the process died in it: for example, by
    /// asking the service for its record of [`Cx::idempotency_key`]. It changes nothing. An error counts as
    /// [`ProbeResult::Unknown`]. Changes of files through [`Cx::fs`] need none: the runtime looks at the files.
    pub fn probe<A, F, Fut, T, E>(mut self, probe: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ProbeResult<T>, E>> + Send + 'static,
        T: IntoOutput,
        ToolError: From<E>,
    {
        self.probe = Some(Arc::new(move |input, cx| {
            let probing = parse_input(&input).map(|args| probe(args, cx));
            Box::pin(async move {
                Ok(match probing?.await? {
                    ProbeResult::Happened(answer) => ProbeResult::Happened(answer.into_output()?),
                    ProbeResult::NotHappened => ProbeResult::NotHappened,
                    ProbeResult::Unknown => ProbeResult::Unknown,
                })
            })
        }));
        self
    }

    /// Finishes the tool with code that does not need the context.
    pub fn execute<A, F, Fut, T, E>(self, run: F) -> Tool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoOutput,
        ToolError: From<E>,
    {
        let mut tool = self.execute_with(move |args: A, _| run(args));
        tool.uses_context = false;
        tool
    }

    /// Finishes the tool with code that takes the context.
    pub fn execute_with<A, F, Fut, T, E>(self, run: F) -> Tool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoOutput,
        ToolError: From<E>,
    {
        self.finish::<A>(Arc::new(move |input, cx| {
            let future = run(parse_input(&input)?, cx);
            Ok(CallWork::Async(Box::pin(async move { future.await?.into_output() })))
        }))
    }

    /// Finishes the tool with code that blocks, such as work on files. It runs on a separate thread, which cannot be
    /// stopped from outside: it asks [`Cx::is_cancelled`] where it takes long. A call that is cancelled waits for it for
    /// a moment and then goes on without it; [`Fs::apply`](crate::Fs::apply) refuses from the cancellation on.
    pub fn execute_blocking<A, F, T, E>(self, run: F) -> Tool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, &Cx) -> Result<T, E> + Send + Sync + 'static,
        T: IntoOutput,
        ToolError: From<E>,
    {
        self.execute_blocking_unless(|_, _| false, run)
    }

    /// Finishes the tool with code that blocks, unless `is_quick` says that this call will not. Such a call runs on the
    /// thread that called, which saves two changes of threads.
    pub fn execute_blocking_unless<A, F, T, E>(
        self,
        is_quick: impl Fn(&A, &Cx) -> bool + Send + Sync + 'static,
        run: F,
    ) -> Tool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, &Cx) -> Result<T, E> + Send + Sync + 'static,
        T: IntoOutput,
        ToolError: From<E>,
    {
        let run = Arc::new(run);
        self.finish::<A>(Arc::new(move |input, cx| {
            let args = parse_input(&input)?;
            let (run, is_quick) = (Arc::clone(&run), is_quick(&args, &cx));
            let finish = move || {
                if cx.is_cancelled() {
                    let message = "the call was cancelled before it began";
                    return Err(ToolError::new(ErrorCode::ProcessAborted, message).not_begun());
                }
                run(args, &cx)?.into_output()
            };
            Ok(match is_quick {
                true => CallWork::Async(Box::pin(async move { finish() })),
                false => CallWork::Blocking(Box::new(finish)),
            })
        }))
    }

    /// Finishes a tool whose schema is data and whose input stays JSON: one that is written in another language, or lies
    /// behind a protocol. The schema is all that checks the input.
    pub fn execute_json<F, Fut, T, E>(self, parameters: Value, run: F) -> Tool
    where
        F: Fn(Value, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoOutput,
        ToolError: From<E>,
    {
        let execute: Arc<Execute> = Arc::new(move |input, cx| {
            let future = run(input, cx);
            Ok(CallWork::Async(Box::pin(async move { future.await?.into_output() })))
        });
        self.finish_with(parameters, Arc::new(|_| Ok(())), execute)
    }

    fn finish<A: DeserializeOwned + JsonSchema + 'static>(self, execute: Arc<Execute>) -> Tool {
        let parse = Arc::new(|input: &Value| parse_input::<A>(input).map(|_| ()));
        let tool = self.finish_with(schema_of::<A>(), parse, execute);
        Tool { has_generated_schema: true, ..tool }
    }

    fn finish_with(self, parameters: Value, parse: Arc<Parse>, execute: Arc<Execute>) -> Tool {
        let Self { mut contract, accesses, timeout_ms, probe, aliases, definition_error } = self;
        contract.parameters = parameters;
        let definition_error = definition_error.or_else(|| {
            if contract.parameters.get("type").is_none_or(|name| name != "object") {
                return Some(DefinitionError::NotAnObject(contract.id.clone()));
            }
            let properties = contract.parameters.get("properties");
            let is_unknown =
                |name: &&String| properties.and_then(|all| all.get(name.as_str())).is_none();
            let name = contract.redacted.iter().find(is_unknown)?.clone();
            Some(DefinitionError::NotAParameter { tool: contract.id.clone(), name })
        });
        let contract = Arc::new(contract);
        Tool {
            contract,
            accesses,
            timeout_ms,
            parse,
            execute,
            probe,
            uses_context: true,
            has_generated_schema: false,
            aliases,
            definition_error,
        }
    }
}

fn parse_input<A: DeserializeOwned>(input: &Value) -> Result<A, ToolError> {
    A::deserialize(input).map_err(|err| ToolError::new(ErrorCode::InvalidInput, err.to_string()))
}
