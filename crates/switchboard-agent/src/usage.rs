//! What was used: tokens, and what they cost where the user told the price.

use serde::Serialize;
use switchboard::config::settings::Price;

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// What the model read, also what it had read before.
    pub input_tokens: u64,
    /// The part of it that the provider had kept.
    pub cached_tokens: u64,
    /// What the model wrote.
    pub output_tokens: u64,
    /// What it cost in millionths of a dollar, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none", rename = "costMicroDollars")]
    pub cost: Option<u64>,
}

impl Usage {
    /// With what it cost.
    #[must_use]
    pub fn priced(mut self, price: Option<Price>) -> Self {
        self.cost = price.map(|price| {
            let fresh = self.input_tokens.saturating_sub(self.cached_tokens);
            let parts = [
                (fresh, price.input),
                (self.cached_tokens, price.cached),
                (self.output_tokens, price.output),
            ];
            let total: u128 = parts.iter().map(|(n, price)| u128::from(*n) * u128::from(*price)).sum();
            u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
        });
        self
    }

    /// Both together. What one of them cost is unknown, the whole is.
    pub fn add(&mut self, other: Self) {
        let is_first = *self == Self::default();
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (None, cost) if is_first => cost,
            _ => None,
        };
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_cost_is_known_only_when_all_prices_are() {
        let price = Price { input: 3_000_000, cached: 300_000, output: 15_000_000 };
        let one = Usage { input_tokens: 1000, cached_tokens: 400, output_tokens: 10, cost: None };
        let priced = one.priced(Some(price));
        assert_eq!(priced.cost, Some(1800 + 120 + 150));
        let mut sum = Usage::default();
        sum.add(priced);
        sum.add(priced);
        assert_eq!((sum.cost, sum.input_tokens), (Some(4140), 2000));
        sum.add(one);
        assert_eq!(sum.cost, None);
    }
}
