//! Walks one parsed file and notes what stands in it; it looks at no other file.

use std::ops::RangeInclusive;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Ident, ImplItem, Item, Meta, Signature, UseTree, Visibility};

use super::{
    CodePath, DefinitionVisibility, FunctionDefinition, LineCounts, ProductionFile, TypeDefinition,
    UseDeclaration,
};
use crate::repository::RepositoryFile;
use crate::rust_text::RustText;

/// Reads one file.
pub(super) fn collect(
    source: &RepositoryFile,
    rust: &RustText,
    crate_name: &str,
    module: Vec<String>,
) -> syn::Result<ProductionFile> {
    let syntax = syn::parse_file(&source.text)?;
    let mut collector = Collector::default();
    collector.visit_file(&syntax);
    let is_production =
        |index: usize| !collector.test_lines.iter().any(|lines| lines.contains(&(index + 1)));
    let mut code = String::new();
    for (index, line) in rust.code.lines().enumerate() {
        code.push_str(if is_production(index) { line } else { "" });
        code.push('\n');
    }
    let mut lines = LineCounts::default();
    for (index, (line, comment)) in source.text.lines().zip(rust.comments.lines()).enumerate() {
        if !is_production(index) {
            continue;
        }
        lines.total += 1;
        lines.blank += usize::from(line.trim().is_empty());
        let is_comment = !comment.trim().is_empty() && comment.trim() == line.trim();
        let is_doc =
            is_comment && ["///", "//!"].iter().any(|mark| comment.trim().starts_with(mark));
        lines.doc += usize::from(is_doc);
        lines.comment += usize::from(is_comment && !is_doc);
    }
    let in_crate = |inline: Vec<String>| module.iter().cloned().chain(inline).collect();
    Ok(ProductionFile {
        path: source.path.clone(),
        crate_name: crate_name.to_owned(),
        test_modules: collector.test_modules.into_iter().map(in_crate).collect(),
        module,
        code,
        lines,
        types: collector.types,
        functions: collector.functions,
        uses: collector.uses,
        paths: collector.paths,
        test_lines: collector.test_lines,
    })
}

#[derive(Default)]
struct Collector {
    types: Vec<TypeDefinition>,
    functions: Vec<FunctionDefinition>,
    uses: Vec<UseDeclaration>,
    paths: Vec<CodePath>,
    /// The inline modules around the current item.
    inline: Vec<String>,
    test_lines: Vec<RangeInclusive<usize>>,
    /// Modules declared for tests only, relative to the file's module.
    test_modules: Vec<Vec<String>>,
}

impl Collector {
    fn add_function(
        &mut self,
        signature: &Signature,
        block: &Block,
        visibility: DefinitionVisibility,
    ) {
        let line = start_line(signature.fn_token.span);
        let last = block.brace_token.span.close().end().line;
        self.functions.push(FunctionDefinition {
            name: signature.ident.to_string(),
            visibility,
            lines: last + 1 - line,
            parameters: signature.inputs.len(),
        });
    }

    fn add_use(&mut self, tree: &UseTree, segments: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                segments.push(path.ident.to_string());
                self.add_use(&path.tree, segments);
                segments.pop();
            }
            UseTree::Group(group) => {
                for item in &group.items {
                    self.add_use(item, segments);
                }
            }
            UseTree::Name(name) => self.add_used_name(&name.ident, &name.ident, segments),
            UseTree::Rename(rename) => self.add_used_name(&rename.ident, &rename.rename, segments),
            UseTree::Glob(glob) => {
                let path = self.code_path(segments.clone(), glob.star_token.span);
                self.uses.push(UseDeclaration { path, name: "*".to_owned() });
            }
        }
    }

    fn add_used_name(&mut self, used: &Ident, name: &Ident, segments: &[String]) {
        let mut segments = segments.to_vec();
        if used != "self" {
            segments.push(used.to_string());
        }
        let name = if name == "self" { segments.last().cloned() } else { Some(name.to_string()) };
        let path = self.code_path(segments, used.span());
        self.uses.extend(name.map(|name| UseDeclaration { path, name }));
    }

    fn code_path(&self, segments: Vec<String>, span: Span) -> CodePath {
        CodePath { segments, inline: self.inline.clone(), line: start_line(span) }
    }

    /// Notes paths in the tokens of a macro call.
    fn add_token_paths(&mut self, tokens: TokenStream) {
        let mut segments: Vec<Ident> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_segments(&mut segments);
                    }
                    segments.push(ident);
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.add_segments(&mut segments);
                    self.add_token_paths(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.add_segments(&mut segments),
            }
            colons = 0;
        }
        self.add_segments(&mut segments);
    }

    fn add_segments(&mut self, segments: &mut Vec<Ident>) {
        if let [first, _, ..] = segments.as_slice() {
            let names = segments.iter().map(ToString::to_string).collect();
            let path = self.code_path(names, first.span());
            self.paths.push(path);
        }
        segments.clear();
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, definition) = match item {
            Item::Const(item) => (&item.attrs, None),
            Item::Enum(item) => (&item.attrs, Some((&item.ident, &item.vis))),
            Item::Fn(item) => (&item.attrs, None),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, None),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, None),
            Item::Struct(item) => (&item.attrs, Some((&item.ident, &item.vis))),
            Item::Trait(item) => (&item.attrs, Some((&item.ident, &item.vis))),
            Item::Type(item) => (&item.attrs, Some((&item.ident, &item.vis))),
            Item::Union(item) => (&item.attrs, Some((&item.ident, &item.vis))),
            Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if is_for_tests(attributes) {
            self.test_lines.push(lines_of(item.span()));
            if let Item::Mod(module) = item {
                let name = module.ident.to_string();
                self.test_modules.push(self.inline.iter().cloned().chain([name]).collect());
            }
            return;
        }
        if let Some((name, visibility)) = definition {
            self.types.push(TypeDefinition {
                name: name.to_string(),
                visibility: definition_visibility(visibility),
                line: start_line(name.span()),
            });
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Fn(function) => &function.attrs,
            ImplItem::Const(constant) => &constant.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if is_for_tests(attributes) {
            self.test_lines.push(lines_of(item.span()));
        } else {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.inline.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.inline.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add_function(&item.sig, &item.block, definition_visibility(&item.vis));
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        for function in item.items.iter().filter_map(|item| match item {
            ImplItem::Fn(function) if !is_for_tests(&function.attrs) => Some(function),
            _ => None,
        }) {
            let visibility = match item.trait_ {
                Some(_) => DefinitionVisibility::Visible,
                None => definition_visibility(&function.vis),
            };
            self.add_function(&function.sig, &function.block, visibility);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add_function(&item.sig, block, DefinitionVisibility::Visible);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() && segments.len() > 1 {
            let path = self.code_path(segments, path.span());
            self.paths.push(path);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_token_paths(call.tokens.clone());
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

fn definition_visibility(visibility: &Visibility) -> DefinitionVisibility {
    match visibility {
        Visibility::Inherited => DefinitionVisibility::Private,
        Visibility::Public(_) | Visibility::Restricted(_) => DefinitionVisibility::Visible,
    }
}

fn start_line(span: Span) -> usize {
    span.start().line
}

fn lines_of(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// Returns whether an item is built for tests only: under `test`, `all(test, …)`, or the feature that
/// adds the test suite of the stores.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = match &attribute.meta {
            Meta::Path(path) => return path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("cfg") => list.tokens.clone(),
            Meta::List(_) | Meta::NameValue(_) => return false,
        };
        let tokens: Vec<TokenTree> = condition.into_iter().collect();
        match tokens.as_slice() {
            [TokenTree::Ident(word)] => word == "test",
            [TokenTree::Ident(word), _, TokenTree::Literal(feature)] => {
                word == "feature" && feature.to_string() == "\"conformance\""
            }
            [TokenTree::Ident(word), TokenTree::Group(group)] if word == "all" => group
                .stream()
                .into_iter()
                .any(|token| matches!(token, TokenTree::Ident(word) if word == "test")),
            _ => false,
        }
    })
}
