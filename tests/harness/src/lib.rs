//! One unit test, two homes: the host's test runner and the Cortex-M33 under QEMU.
//!
//! `use stillpoint_test::test;` in a test module shadows the built-in attribute. On the host `#[test]` means what it
//! always means. In a build with `--cfg on_target` there is no test runner, so the function is registered in the
//! linker section `stillpoint_tests`, from which the firmware `stillpoint-on-target` runs it.
use proc_macro::{TokenStream, TokenTree};

/// Marks a unit test that runs on the host *and* on the target.
#[proc_macro_attribute]
pub fn test(_arguments: TokenStream, function: TokenStream) -> TokenStream {
    let Some(name) = name_of(&function) else {
        return r##"compile_error!("#[test] belongs on a function");"##.parse().expect("valid Rust");
    };
    let registration = format!(
        r#"
        #[cfg(on_target)]
        const _: () = {{
            #[used]
            #[unsafe(link_section = "stillpoint_tests")]
            static REGISTERED: crate::on_target::UnitTest = crate::on_target::UnitTest {{
                name: concat!(module_path!(), "::", stringify!({name})),
                run: {name},
            }};
        }};
        #[cfg_attr(not(on_target), ::core::prelude::v1::test)]
        "#
    );
    let mut output: TokenStream = registration.parse().expect("valid Rust");
    output.extend(function);
    output
}

fn name_of(function: &TokenStream) -> Option<String> {
    let mut tokens = function.clone().into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"))?;
    tokens.next().map(|name| name.to_string())
}
