//! Words, numbers and signs.
use super::span::{ExprError, Span};
use winnow::Parser;
use winnow::ascii::{digit1, hex_digit1, multispace0};
use winnow::combinator::{alt, delimited, preceded, terminated};
use winnow::error::ContextError;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{any, one_of, take_while};

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, without its quotes if it had any.
    Word(String),
    /// A number as written; negative ones are made by a sign before it.
    Number(i64),
    /// An operator or other sign.
    Sign(&'static str),
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub span: Span,
}

impl PartialEq<&str> for Token {
    fn eq(&self, sign: &&str) -> bool {
        matches!(&self.kind, Kind::Sign(mine) if mine == sign)
    }
}

/// How deep parentheses and signs may nest: more than any program has room for, and few enough for our own stack.
const MAX_DEPTH: usize = 32;

/// How many tokens one condition may have: each operator in it may be a level of its own.
const MAX_LENGTH: usize = 1000;

/// Every sign, the longer before those they begin with. Words that mean a sign follow in `sign_of`.
const SIGNS: [&str; 28] = [
    "->", "==", "!=", "<=", ">=", "&&", "||", "(", ")", ".", ":", "|", "&", "^", "+", "-", "*", "/", "%", "<", ">",
    "{", "}", ",", ";", "=", "[", "]",
];

/// Signs that mean something in a model of expected behaviour, and nothing in an expression.
const OF_MODELS: [&str; 7] = ["{", "}", ",", ";", "=", "[", "]"];

type Input<'a> = LocatingSlice<&'a str>;
type Result<T> = std::result::Result<T, ContextError>;

/// Cuts an expression into tokens.
pub(super) fn tokens(text: &str) -> std::result::Result<Vec<Token>, ExprError> {
    let tokens = all_tokens(text)?;
    let foreign = |token: &&Token| OF_MODELS.iter().any(|sign| **token == *sign);
    match tokens.iter().find(foreign) {
        Some(token) => Err(unknown(text, token.span.start)),
        None => Ok(tokens),
    }
}

/// Cuts a text into tokens, those of models among them.
pub(crate) fn all_tokens(text: &str) -> std::result::Result<Vec<Token>, ExprError> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    loop {
        let _ = multispace0::<_, ContextError>.parse_next(&mut input);
        let start = input.current_token_start();
        if input.is_empty() {
            break;
        }
        let Ok(kind) = token(&mut input) else {
            return Err(unknown(text, start));
        };
        tokens.push(Token { kind, span: start..input.previous_token_end() });
    }
    check_depth(text, &tokens)?;
    Ok(tokens)
}

fn token(input: &mut Input<'_>) -> Result<Kind> {
    alt((number.map(Kind::Number), word, sign.map(Kind::Sign))).parse_next(input)
}

fn word(input: &mut Input<'_>) -> Result<Kind> {
    let start = one_of(|c: char| c.is_alphabetic() || c == '_');
    let bare = (start, take_while(0.., |c: char| c.is_alphanumeric() || c == '_')).take();
    let quoted = delimited('"', take_while(1.., |c: char| c != '"'), '"');
    alt((bare.map(sign_of), quoted.map(|text: &str| Kind::Word(text.to_owned())))).parse_next(input)
}

/// The words that stand for a sign.
fn sign_of(word: &str) -> Kind {
    match word {
        "and" => Kind::Sign("&&"),
        "or" => Kind::Sign("||"),
        "not" => Kind::Sign("!"),
        _ => Kind::Word(word.to_owned()),
    }
}

/// Decimal, or hexadecimal for the 32 bits of a watch as they are.
fn number(input: &mut Input<'_>) -> Result<i64> {
    // Grouping as in the firmware's own source: 1_000, 0xffff_0000.
    let digits = |text: &str| text.replace('_', "");
    let bits = |text: &str| u32::from_str_radix(&digits(text), 16).map(|bits| i64::from(bits as i32));
    let hex =
        preceded(alt(("0x", "0X")), (hex_digit1, take_while(0.., |c: char| c.is_ascii_hexdigit() || c == '_')).take());
    let decimal = (digit1, take_while(0.., |c: char| c.is_ascii_digit() || c == '_')).take();
    let end = winnow::combinator::not(one_of(|c: char| c.is_alphanumeric() || c == '_'));
    terminated(alt((hex.try_map(bits), decimal.try_map(|text: &str| digits(text).parse::<i64>()))), end)
        .parse_next(input)
}

fn sign(input: &mut Input<'_>) -> Result<&'static str> {
    for sign in SIGNS.into_iter().chain(["!"]) {
        if winnow::token::literal::<_, _, ContextError>(sign).parse_next(input).is_ok() {
            return Ok(sign);
        }
    }
    winnow::combinator::fail(input)
}

fn unknown(text: &str, at: usize) -> ExprError {
    let mut rest = LocatingSlice::new(text.get(at..).unwrap_or_default());
    let first: char = any::<_, ContextError>.parse_next(&mut rest).unwrap_or(' ');
    if first.is_ascii_digit() {
        let end = text[at..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(text.len(), |length| at + length);
        let problem = format!("`{}` is no number", &text[at..end]);
        return ExprError::new(text, at..end, problem, "write 17, -17 or 0x11; numbers have 32 bits");
    }
    let (problem, advice) = match first {
        '"' => ("the quote is never closed".to_owned(), "end the name with `\"`"),
        '=' => ("`=` means nothing here".to_owned(), "compare with `==`; the next stage begins with `->`"),
        _ => {
            (format!("`{first}` means nothing here"), "put names with unusual characters into quotes: \"token taken\"")
        }
    };
    ExprError::new(text, at..at + first.len_utf8(), problem, advice)
}

fn check_depth(text: &str, tokens: &[Token]) -> std::result::Result<(), ExprError> {
    let (mut open, mut signs, mut length) = (0usize, 0usize, 0usize);
    for token in tokens {
        length = if matches!(token.kind, Kind::Sign("->" | "|" | "&" | "," | ";" | "{" | "}" | "=")) {
            0
        } else {
            length + 1
        };
        if length > MAX_LENGTH {
            let advice =
                format!("a condition has at most {MAX_LENGTH} names, numbers and signs; split it with `&` or `|`");
            return Err(ExprError::new(text, token.span.clone(), "this is too long", advice));
        }
        match token.kind {
            Kind::Sign("(") => open += 1,
            Kind::Sign(")") => open = open.saturating_sub(1),
            _ => {}
        }
        signs = if matches!(token.kind, Kind::Sign("-" | "!")) { signs + 1 } else { 0 };
        if open > MAX_DEPTH || signs > MAX_DEPTH {
            return Err(ExprError::new(
                text,
                token.span.clone(),
                "this nests too deeply",
                "no node has room for such a condition",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn the_longest_sign_wins_and_words_may_stand_for_signs() {
        use Kind::Sign;
        assert_eq!(kinds("->-> > - || | & &&"), ["->", "->", ">", "-", "||", "|", "&", "&&"].map(Sign));
        assert_eq!(kinds("and or not"), ["&&", "||", "!"].map(Sign));
        assert_eq!(kinds("!="), [Sign("!=")]);
    }

    #[test]
    fn numbers_are_decimal_or_the_bits_of_a_word() {
        assert_eq!(kinds("10 0x1F 1_000 0xffff_ffff"), [10, 31, 1000, -1].map(Kind::Number));
        for bad in ["12ab", "0x1_0000_0000", "0xg", "99999999999999999999"] {
            let error = tokens(bad).unwrap_err();
            assert!(error.problem.contains("no number"), "{error}");
            assert_eq!(error.span, 0..bad.len());
        }
    }

    #[test]
    fn a_name_in_quotes_may_hold_anything_but_a_quote() {
        assert_eq!(kinds("\"token taken\""), [Kind::Word("token taken".into())]);
        assert_eq!(tokens("a \"b").unwrap_err().span, 2..3);
        assert_eq!(tokens("größe § 1").unwrap_err().span, 8..10);
    }

    #[test]
    fn what_would_exhaust_the_stack_is_refused() {
        for deep in ["(".repeat(5000), "-".repeat(5000), "!".repeat(33)] {
            assert!(tokens(&deep).unwrap_err().problem.contains("deep"));
        }
        assert!(tokens(&"()".repeat(500)).is_ok());
    }
}
