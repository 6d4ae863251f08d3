//! Which model, where it is, with which key. Pure: a flag, settings and variables in, a choice or what to set out.
//!
//! The flag counts before `SWITCHBOARD_MODEL`, that before the settings. Keys and addresses come from the usual variables of
//! each provider. A base URL of the settings counts only for the provider the settings name: no key goes anywhere it was
//! not meant for. A project's file sets none of this; `config::settings` sees to that.

use switchboard::Env;
use switchboard::config::settings::Chat;
use switchboard::env::SWITCHBOARD_MODEL;
use switchboard::visible::excerpt;

use crate::error::Error;

/// The providers, as one writes them.
pub const PROVIDERS: [&str; 5] = ["anthropic", "openai", "openai-responses", "gemini", "ollama"];

/// Whose wire format is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Messages of Anthropic.
    Anthropic,
    /// Chat Completions of `OpenAI`, which most servers speak.
    OpenAi,
    /// Responses of `OpenAI`.
    OpenAiResponses,
    /// Gemini of Google.
    Gemini,
    /// Ollama's own.
    Ollama,
}

impl Provider {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "anthropic" => Self::Anthropic,
            "openai" => Self::OpenAi,
            "openai-responses" => Self::OpenAiResponses,
            "gemini" | "google" => Self::Gemini,
            "ollama" => Self::Ollama,
            _ => return None,
        })
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => PROVIDERS[0],
            Self::OpenAi => PROVIDERS[1],
            Self::OpenAiResponses => PROVIDERS[2],
            Self::Gemini => PROVIDERS[3],
            Self::Ollama => PROVIDERS[4],
        }
    }

    /// The variables that may hold its key, the usual one first.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi | Self::OpenAiResponses => &["OPENAI_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama => &[],
        }
    }

    /// The variables that may hold its address.
    const fn addresses(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_BASE_URL"],
            Self::OpenAi | Self::OpenAiResponses => &["OPENAI_BASE_URL"],
            Self::Gemini => &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
            Self::Ollama => &["OLLAMA_HOST"],
        }
    }

    /// Where it usually is, and the version that an address may leave out.
    const fn home(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("https://api.anthropic.com", "v1"),
            Self::OpenAi | Self::OpenAiResponses => ("https://api.openai.com/v1", ""),
            Self::Gemini => ("https://generativelanguage.googleapis.com", "v1beta"),
            Self::Ollama => ("http://127.0.0.1:11434", ""),
        }
    }
}

/// A model, ready to be asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Whose wire format is spoken.
    pub provider: Provider,
    /// The provider's name for the model.
    pub name: String,
    /// Where it is, with a slash at the end.
    pub base_url: String,
    /// The key; none where none is needed.
    pub key: Option<String>,
}

impl Chosen {
    /// `provider/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider.as_str(), self.name)
    }
}

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chosen")
            .field("model", &self.full_name())
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

/// The model the user wants: what is given counts before the variable, the variable before the settings.
pub fn choose(given: Option<&str>, settings: &Chat, env: &Env) -> Result<Chosen, Error> {
    let wanted = given.or_else(|| env.non_empty(SWITCHBOARD_MODEL)).or(settings.model.as_deref());
    let (provider, name) = parse(wanted.ok_or(Error::NoModel)?, settings.provider.as_deref())?;
    let (base_url, is_own) = address(provider, settings, env)?;
    let key = provider.keys().iter().find_map(|name| env.non_empty(name)).map(str::to_owned);
    // A server of one's own may do without; it refuses by itself if it does not.
    let may_lack = is_own || provider == Provider::Ollama;
    match (&key, provider.keys().first()) {
        (None, Some(variable)) if !may_lack => Err(Error::NoKey { provider: provider.as_str(), variable }),
        _ => Ok(Chosen { provider, name, base_url, key }),
    }
}

/// `PROVIDER/NAME`; the name may have slashes of its own. Without a known provider in front, that of the settings counts.
fn parse(text: &str, fallback: Option<&str>) -> Result<(Provider, String), Error> {
    let bad = || Error::BadModel { given: excerpt(text, 80) };
    let split = text.split_once('/').and_then(|(word, name)| Some((Provider::from_word(word)?, name)));
    let (provider, name) = match (split, fallback.and_then(Provider::from_word)) {
        (Some(found), _) => found,
        (None, Some(provider)) => (provider, text),
        (None, None) => return Err(bad()),
    };
    if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(bad());
    }
    Ok((provider, name.to_owned()))
}

/// Where the provider is, and whether that is not where it usually is.
fn address(provider: Provider, settings: &Chat, env: &Env) -> Result<(String, bool), Error> {
    let (usual, version) = provider.home();
    for variable in provider.addresses() {
        if let Some(value) = env.non_empty(variable) {
            let value = if provider == Provider::Ollama { with_scheme(value) } else { value.to_owned() };
            if !value.starts_with("http://") && !value.starts_with("https://") {
                return Err(Error::BadAddress { variable });
            }
            return Ok((complete(&value, version), true));
        }
    }
    let of_settings =
        settings.provider.as_deref().or_else(|| Some(settings.model.as_deref()?.split_once('/')?.0));
    let is_meant = of_settings.and_then(Provider::from_word) == Some(provider);
    match settings.base_url.as_deref().filter(|_| is_meant) {
        Some(url) => Ok((complete(url, version), true)),
        None => Ok((complete(usual, version), false)),
    }
}

/// Ends in a slash, with the version in front of it.
fn complete(url: &str, version: &str) -> String {
    let url = url.trim_end_matches('/');
    if version.is_empty() || url.ends_with(&format!("/{version}")) {
        format!("{url}/")
    } else {
        format!("{url}/{version}/")
    }
}

/// `OLLAMA_HOST` is often a host without a scheme, and often the one a server listens on.
fn with_scheme(host: &str) -> String {
    let host = host.replace("0.0.0.0", "127.0.0.1");
    if host.contains("://") {
        return host;
    }
    let has_port =
        host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    format!("http://{host}{}", if has_port { "" } else { ":11434" })
}

#[cfg(test)]
mod tests {
    use switchboard::env::Os;

    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let empty = Env::new(Os::Linux, "/home", "/project");
        vars.iter().fold(empty, |env, (name, value)| env.with_var(name, value))
    }

    fn settings(model: &str, provider: &str, base_url: &str) -> Chat {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Chat { model: some(model), provider: some(provider), base_url: some(base_url), ..Chat::default() }
    }

    #[test]
    fn the_flag_counts_before_the_variable_before_the_settings() {
        let vars = env(&[("SWITCHBOARD_MODEL", "ollama/from-variable")]);
        let chat = settings("ollama/from-settings", "", "");
        let name = |given, chat: &Chat, env: &Env| choose(given, chat, env).unwrap().full_name();
        assert_eq!(name(Some("ollama/from-flag"), &chat, &vars), "ollama/from-flag");
        assert_eq!(name(None, &chat, &vars), "ollama/from-variable");
        assert_eq!(name(None, &chat, &env(&[])), "ollama/from-settings");
        assert_eq!(choose(None, &Chat::default(), &env(&[])), Err(Error::NoModel));
    }

    #[test]
    fn names_are_taken_apart_at_the_provider() {
        let chat = settings("", "openai", "http://127.0.0.1:1/v1");
        let full = |given: &str| choose(Some(given), &chat, &env(&[])).map(|chosen| chosen.full_name());
        assert_eq!(full("ollama/library/qwen3:8b").unwrap(), "ollama/library/qwen3:8b");
        assert_eq!(full("Qwen/Qwen3-8B").unwrap(), "openai/Qwen/Qwen3-8B", "a slash of its own");
        for bad in ["openai/", "openai/a b", ""] {
            assert!(matches!(full(bad), Err(Error::BadModel { .. })), "{bad}");
        }
        let alone = choose(Some("gpt"), &Chat::default(), &env(&[]));
        assert!(matches!(alone, Err(Error::BadModel { .. })));
    }

    #[test]
    fn a_missing_key_is_named() {
        let missing =
            |given: &str, vars: &[(&str, &str)]| match choose(Some(given), &Chat::default(), &env(vars)) {
                Err(Error::NoKey { variable, .. }) => variable,
                other => panic!("{other:?}"),
            };
        assert_eq!(missing("anthropic/x", &[("OPENAI_API_KEY", "k")]), "ANTHROPIC_API_KEY");
        assert_eq!(missing("openai/x", &[]), "OPENAI_API_KEY");
        assert_eq!(missing("gemini/x", &[("GEMINI_API_KEY", "")]), "GEMINI_API_KEY");
        let other = choose(Some("gemini/x"), &Chat::default(), &env(&[("GOOGLE_API_KEY", "k")])).unwrap();
        assert_eq!(other.key.as_deref(), Some("k"));
        let local = choose(
            Some("openai/x"),
            &Chat::default(),
            &env(&[("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1")]),
        );
        assert_eq!(local.unwrap().key, None, "a server of one's own needs none");
    }

    #[test]
    fn addresses_are_completed() {
        let at = |given: &str, vars: &[(&str, &str)]| {
            let vars =
                [vars, &[("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k"), ("OPENAI_API_KEY", "k")]]
                    .concat();
            choose(Some(given), &Chat::default(), &env(&vars)).unwrap().base_url
        };
        assert_eq!(at("anthropic/x", &[]), "https://api.anthropic.com/v1/");
        assert_eq!(at("anthropic/x", &[("ANTHROPIC_BASE_URL", "http://h:1")]), "http://h:1/v1/");
        assert_eq!(at("anthropic/x", &[("ANTHROPIC_BASE_URL", "http://h:1/v1/")]), "http://h:1/v1/");
        assert_eq!(at("openai/x", &[("OPENAI_BASE_URL", "http://h:1/v1")]), "http://h:1/v1/");
        assert_eq!(at("gemini/x", &[]), "https://generativelanguage.googleapis.com/v1beta/");
        assert_eq!(at("ollama/x", &[("OLLAMA_HOST", "0.0.0.0")]), "http://127.0.0.1:11434/");
        assert_eq!(at("ollama/x", &[("OLLAMA_HOST", "box:99")]), "http://box:99/");
        let bad = choose(Some("openai/x"), &Chat::default(), &env(&[("OPENAI_BASE_URL", "next door")]));
        assert_eq!(bad, Err(Error::BadAddress { variable: "OPENAI_BASE_URL" }));
    }

    #[test]
    fn an_address_of_the_settings_is_for_the_provider_they_name() {
        let chat = settings("ollama/small", "", "http://127.0.0.1:9/");
        let vars = env(&[("OPENAI_API_KEY", "k")]);
        assert_eq!(choose(None, &chat, &vars).unwrap().base_url, "http://127.0.0.1:9/");
        let other = choose(Some("openai/gpt"), &chat, &vars).unwrap();
        assert_eq!(other.base_url, "https://api.openai.com/v1/", "the key does not go elsewhere");
    }

    #[test]
    fn a_key_is_not_shown() {
        let chosen =
            choose(Some("openai/x"), &Chat::default(), &env(&[("OPENAI_API_KEY", "hunter2")])).unwrap();
        assert!(!format!("{chosen:?}").contains("hunter2"));
    }
}
