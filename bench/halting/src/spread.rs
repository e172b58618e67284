//! Many measured values, by their usual one, what 95 % lie below, and the most.

/// Values in order.
pub struct Spread(Vec<f64>);

impl Spread {
    /// Sorts them.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Median, 95th percentile (nearest rank) and maximum, with so many decimals; a dash if there are none.
    pub fn cell(&self, decimals: usize) -> String {
        let at = |percent: usize| self.0.get((self.0.len() * percent).div_ceil(100).checked_sub(1)?);
        let ranks: Vec<String> =
            [50, 95, 100].into_iter().filter_map(at).map(|value| format!("{value:.decimals$}")).collect();
        if ranks.is_empty() { "-".to_owned() } else { ranks.join(" / ") }
    }

    /// How many are not greater than this.
    pub fn count_up_to(&self, most: f64) -> usize {
        self.0.partition_point(|value| *value <= most)
    }

    /// The greatest.
    pub fn most(&self) -> Option<f64> {
        self.0.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sorted_values() {
        let hundred = Spread::of((1..=100).rev().map(f64::from));
        assert_eq!(hundred.cell(0), "50 / 95 / 100");
        assert_eq!((hundred.count_up_to(7.0), hundred.most()), (7, Some(100.0)));
        assert_eq!(Spread::of([7.25]).cell(2), "7.25 / 7.25 / 7.25");
    }

    #[test]
    fn nothing_measured_is_a_dash_and_not_a_zero() {
        assert_eq!((Spread::of([]).cell(0), Spread::of([]).most()), ("-".to_owned(), None));
    }
}
