//! Whether what a dump shows now is what its cut showed when it was saved.
use serde_json::Value;

/// The places where two values differ, at most so many, each with both.
#[must_use]
pub fn differences(saved: &Value, now: &Value, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    walk("", saved, now, &mut found);
    found.truncate(most);
    found
}

fn walk(at: &str, saved: &Value, now: &Value, found: &mut Vec<String>) {
    match (saved, now) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let [one, other] = [one, other].map(|map| map.get(key).unwrap_or(&Value::Null));
                walk(&format!("{at}.{key}"), one, other, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                walk(&format!("{at}[{index}]"), one, other, found);
            }
        }
        (one, other) if one == other => {}
        (one, other) => {
            found.push(format!("{}: {} then, {} now", at.trim_start_matches('.'), short(one), short(other)))
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_difference_is_named_with_both_values() {
        let (then, now) = (json!({"a": [1, {"b": 2}], "c": 3}), json!({"a": [1, {"b": 5}], "d": true}));
        let found = differences(&then, &now, 9);
        assert_eq!(found, ["a[1].b: 2 then, 5 now", "c: 3 then, null now", "d: null then, true now"]);
        assert_eq!(differences(&then, &now, 1).len(), 1);
        assert!(differences(&then, &then, 9).is_empty());
    }
}
