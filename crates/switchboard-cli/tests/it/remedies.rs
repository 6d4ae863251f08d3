//! What to do about each code, for the page of problems. A code without advice, and advice without a code, fails.

/// What to do about a code.
///
/// # Panics
///
/// When nobody wrote it down.
pub(crate) fn remedy(code: &str) -> &'static str {
    let row = PROBLEMS.iter().chain(ERRORS).chain(FILES).find(|(known, _)| *known == code);
    row.unwrap_or_else(|| panic!("remedies.rs does not say what to do about `{code}`")).1
}

/// All codes there is advice for.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    PROBLEMS.iter().chain(ERRORS).chain(FILES).map(|(code, _)| *code)
}

/// What `list`, `why` and `doctor` tell.
const PROBLEMS: &[(&str, &str)] = &[
    ("file-unreadable", "Look at its permissions and at the disk. Other files are read all the same."),
    (
        "file-too-large",
        "A configuration has at most 16 MiB. Is it the right file? Move what is no configuration out of it.",
    ),
    ("file-not-regular", "Put a file there, or remove what is there."),
    ("file-not-text", "Save it as UTF-8."),
    ("file-empty", "Nothing, or delete it."),
    ("syntax-error", "Mend the line that is named. Until then nothing of this file is used."),
    (
        "wrong-shape",
        "Compare it with an example in the [guide](guide.md#add-a-server); the servers are an object, by name.",
    ),
    ("no-servers", "Put the servers under the key that is named, or ignore it if the file has none."),
    ("invalid-server", "Mend the entry: either `command` or `url`, not both and not neither."),
    (
        "bad-field",
        "Give the field a value of the kind that is named. The rest of the entry counts meanwhile.",
    ),
    ("duplicate-key", "Remove one of the two, so that readers agree on what the file says."),
    (
        "unknown-field",
        "Nothing. If you meant a field of ours, the [reference](configuration.md) has its spelling.",
    ),
    (
        "unsupported-field",
        "Say it in another way if the hint names one, or leave that server to its own tool.",
    ),
    ("not-a-server", "Nothing."),
    ("shadowed", "Nothing, or remove the definition that wins: `switchboard why NAME` shows both."),
    ("duplicate-server", "Remove one of the two names, unless they are meant to differ."),
    ("filtered", "Nothing, or change the setting: `switchboard why NAME` names it."),
    ("untrusted", "Look at it with `switchboard why NAME`, then `switchboard trust NAME`."),
    ("approvals-unreadable", "Move the file that is named aside, and approve again."),
    ("grants-unreadable", "Move the file that is named aside; the questions come again."),
    ("grant-not-kept", "See whether `~/.switchboard` can be written to."),
    ("bad-setting", "Give the setting one of the values that are named. Its default counts meanwhile."),
    ("unknown-setting", "Look for its spelling in the [reference](configuration.md#settings)."),
    (
        "setting-not-allowed",
        "Move it to your own `~/.switchboard/settings.json` or `mcp.json`, if you want it.",
    ),
    ("bad-variable", "Mend or unset the variable."),
    ("variable-unset", "Set it, or write a default: `${NAME:-value}`."),
    ("placeholder-unsupported", "Add the server to your own file with a variable in its place."),
    (
        "value-command-failed",
        "Run the command yourself in the project's directory. It has ten seconds and no input.",
    ),
    ("value-file-unreadable", "See whether the file is there and may be read."),
    ("value-empty", "Set what it comes from, or take the variable or header out."),
    ("value-not-allowed", "Take line breaks out of the value, or use a name that is allowed."),
    ("clear-text-credential", "Use an address with `https`."),
    ("login-missing", "`switchboard reauth NAME`."),
    ("login-over", "`switchboard reauth NAME`."),
    ("clear-text-login", "Use an address with `https`."),
    ("credential-unreadable", "`chmod 600` the file if it is yours; otherwise delete it and log in again."),
    ("credential-unused", "Nothing, or delete the file that is named."),
    ("command-not-found", "Install the program, or write its whole path as `command`. `PATH` is searched."),
    ("server-failed", "`switchboard test NAME` shows how far it came."),
    ("name-clash", "Nothing, or give one of the servers a `prefix`."),
    ("tool-twice", "Nothing; tell whoever makes the server."),
    ("tool-quarantined", "Nothing; tell whoever makes the server. Its other tools work."),
    ("tool-changed", "Read what the tool says of itself now, before you let a model use it."),
    ("odd-item", "Nothing; tell whoever makes the server. Its other items work."),
    ("repaired-item", "Nothing."),
    (
        "secret-in-project",
        "Put `${NAME}` in its place, or move the server to your own file: `add --scope user`.",
    ),
];

/// Why something cannot be reached or does not answer.
const ERRORS: &[(&str, &str)] = &[
    ("bad-url", "Write a whole address, with `https://` or `http://`."),
    ("no-directory", "Make the directory, or mend `cwd`."),
    ("env-file-unusable", "See whether the file is there, and has `NAME=value` on each line."),
    ("url-refused", "If it is a login server of your own network, allow its host: `login.privateHosts`."),
    ("login-unreachable", "See whether the login server works in a browser, then try again."),
    ("endpoints-unknown", "Ask its maker how to log in. If it takes a token, use `auth` or a header."),
    (
        "resource-mismatch",
        "Check the address of the server: it must be the one its maker names, to the letter.",
    ),
    ("issuer-mismatch", "Do not log in there. Tell whoever runs the server."),
    ("no-pkce", "Tell whoever runs the login server. Use a token if there is one."),
    ("registration-refused", "Register by hand, then put `oauth.clientId` into the entry."),
    ("token-refused", "Log in again. If `oauth.clientSecret` is set, check it."),
    ("login-refused", "Log in again, with an account that may use the server."),
    ("login-declined", "`switchboard reauth NAME` when you want to."),
    ("login-timeout", "`switchboard reauth NAME`, and finish within the time that is named."),
    ("no-port", "Set another `oauth.callbackPort`, or leave it out."),
    ("bad-paste", "Paste the whole address of the page the browser ended at."),
    ("scope-limit", "Ask whoever runs the server which rights the tool needs."),
    ("credential-busy", "Wait a moment. If it stays, end the process that is named."),
    ("credential-sealed", "Unlock your keyring, or log in again; `login.keyring: \"off\"` does without."),
    ("bad-key", "Use a key in PKCS#8: P-256 or RSA."),
    ("bad-statement", "Put a signed statement (JWT) into the file or the variable."),
    ("start-failed", "See whether the program may be executed, and runs by itself."),
    (
        "server-exited",
        "Its last words, in the same message, tell why. `switchboard test NAME` shows all of them.",
    ),
    (
        "connection-closed",
        "`switchboard test NAME`; it may have crashed, or written something else than messages.",
    ),
    ("stopped", "Nothing: the program was ending."),
    (
        "timeout",
        "Raise `timeout`, or `--timeout` for one call. `switchboard test NAME` shows where it is slow.",
    ),
    ("cancelled", "Nothing."),
    ("message-too-large", "Ask for less at a time; a message has at most 16 MiB."),
    ("malformed-answer", "Tell whoever makes the server; `test --trace FILE` has what it said."),
    ("server-error", "Its message says why. Look at the arguments."),
    ("http-error", "The status says why. Look at the address and the headers: `switchboard why NAME`."),
    ("login-needed", "`switchboard reauth NAME`, or give it a token."),
    ("not-mcp", "Check the address; often its path is missing, such as `/mcp`."),
    ("redirected", "Use the address that is named, if you trust it."),
    ("unreachable", "Check the address, that the server runs, the network and the proxy variables."),
    ("answer-cut-off", "Try again. If it stays, something between you and the server closes streams early."),
    ("session-lost", "Try again: the next call begins a new one."),
    ("version-mismatch", "Update the server, or Switchboard."),
    ("too-many-rounds", "Tell whoever makes the server."),
    ("input-declined", "Use it where somebody can answer: in a terminal, or in an agent that shows forms."),
    ("denied", "The message names the rule. Change it in your settings or in the entry, or answer yes."),
    ("approval-needed", "Answer the question that waits."),
    ("approval-outdated", "Look at the tool again, and answer again."),
    ("bad-arguments", "The hint says what the tool takes."),
    ("no-model", "`--model PROVIDER/NAME`, `SWITCHBOARD_MODEL`, or `chat.model` in your settings."),
    ("bad-model", "Write it as `PROVIDER/NAME`, for example `anthropic/NAME` or `ollama/NAME`."),
    ("no-key", "Set the variable that is named."),
    ("bad-model-address", "Write a whole address, with `https://` or `http://`."),
    ("model-unauthorized", "Check the key in the variable that is named."),
    ("model-busy", "Try again later; it was tried several times already."),
    (
        "conversation-too-long",
        "Begin a new conversation, or set `chat.contextTokens` to what the model can do.",
    ),
    ("model-rejected", "The message of the provider says why; often the name of the model."),
    ("model-unreachable", "Check the address, and that the model runs."),
    ("answer-cut", "Try again."),
    ("answer-garbled", "Check that the address speaks like the provider in front of the model's name."),
];

/// Why a file was not changed.
const FILES: &[(&str, &str)] = &[
    ("file-read-only", "Make it writable, if you want it changed: `chmod u+w FILE`."),
    ("file-denied", "See whose it is: `ls -l FILE`."),
    ("disk-full", "Free some space, then try again."),
    ("file-locked", "Try again when the other program is done."),
    ("file-busy", "Try again when the other program is done."),
    ("file-not-editable", "Change it by hand, as the message says, or mend what is named."),
    ("file-unconfirmed", "See to the disk, then look at the file: it has the new text."),
    ("file-not-written", "See to the disk, then try again."),
    ("bad-name", "Use letters, digits, dashes, underscores and dots, at most 100."),
    ("server-exists", "Choose another name, or replace it: `--replace`, with `install` `--force`."),
    ("server-not-found", "`switchboard list --all` shows all names."),
];

/// Why a command failed, besides all of the above: the code, its meaning, what to do.
pub(crate) const COMMANDS: &[(&str, &str, &str)] = &[
    ("usage", "What was typed is no command that makes sense.", "`switchboard help COMMAND`."),
    ("interrupted", "You stopped it.", "Nothing."),
    (
        "not-approved",
        "Something wants your yes, and nobody could be asked.",
        "Give it in advance: the hint says how.",
    ),
    ("server-disabled", "The server is switched off.", "`switchboard enable NAME`."),
    ("server-set-aside", "The server is there and does not count.", "`switchboard why NAME` says why."),
    (
        "always-trusted",
        "The server needs no approval, so none can be taken back.",
        "`switchboard disable NAME`.",
    ),
    (
        "not-our-file",
        "The server stands in a file of another tool, or in a variable.",
        "`switchboard disable NAME`, or remove it there.",
    ),
    (
        "nothing-to-import",
        "There is no definition of that name in another tool's file.",
        "`switchboard list` shows what there is.",
    ),
    ("tool-not-found", "No tool fits that spelling.", "`switchboard tools` shows all."),
    (
        "ambiguous-tool",
        "The spelling means several tools; nothing was called.",
        "Use one of the names that are listed, or `--server NAME`.",
    ),
    ("resource-not-found", "No server has that resource.", "`switchboard resources` shows all."),
    ("ambiguous-resource", "Several servers have that resource.", "`--server NAME`."),
    ("prompt-not-found", "No prompt has that name.", "`switchboard prompts` shows all."),
    ("ambiguous-prompt", "Several servers have a prompt of that name.", "`--server NAME`."),
    ("tool-error", "The tool ran and says that it failed.", "Its own text says why."),
    (
        "no-server-answered",
        "None of the servers that were asked answered.",
        "`switchboard doctor --connect`.",
    ),
    ("required-server", "A server that is `required` does not work.", "`switchboard test NAME`."),
    ("no-login", "The server takes no login.", "`switchboard why NAME` shows what it is sent instead."),
    ("no-terminal", "That needs a person at a terminal.", "`reauth --no-browser` does without a browser."),
    (
        "terminal",
        "The terminal cannot be used for questions.",
        "Use another terminal, or the options of the command.",
    ),
    ("not-here", "That cannot be done here.", "The hint says where it can."),
    (
        "nothing-runs",
        "No session and no gateway is running.",
        "Nothing: what is started from now on reads the configuration.",
    ),
    ("no-answer", "A session or gateway that runs does not answer.", "End it, if it hangs."),
    ("refused", "A session or gateway that runs does not do what was asked.", "Its message says why."),
    (
        "not-reconnected",
        "A session or gateway could not connect to the server anew.",
        "`switchboard test NAME`.",
    ),
    ("no-such-directory", "The directory of `-C` is not there.", "Make it, or name another one."),
    ("no-such-file", "That tool has no file for the scope.", "Use the other scope."),
    (
        "not-possible",
        "The file of that tool cannot be changed like this.",
        "The message says why; change it by hand.",
    ),
    ("file-exists", "The file is there already.", "Name another one."),
    ("cannot-write", "The file cannot be written.", "Name another one."),
    ("log-file", "The log file cannot be written.", "Name another one: `--log-file FILE`."),
    ("trace", "The trace cannot be written.", "Name another one: `--trace FILE`."),
    ("bad-token", "The token of the gateway is no word.", "`serve --http --token` makes one."),
    (
        "token-file",
        "The file with the token of the gateway cannot be used.",
        "Only you may read it, and it holds the token alone.",
    ),
    (
        "cannot-listen",
        "The gateway cannot listen there.",
        "Use another port or path, or end what listens there.",
    ),
    ("unknown-profile", "There is no profile of that name.", "The hint lists those there are."),
    ("no-prompt", "There is nothing to say to the model.", "`-p PROMPT`."),
    ("bad-tool-choice", "`--tool-choice` has no such value.", "`auto`, `required`, `none`, or a tool."),
    ("step-limit", "The turn took more steps than it may.", "`--max-steps N`, or `chat.maxSteps`."),
    ("answer-too-long", "The answer of the model was cut off at its limit.", "Ask for less."),
    ("answer-refused", "The model refused to answer.", "Ask in another way."),
    ("no-conversation", "There is no conversation to write down yet.", "Say something first."),
    ("unknown-command", "There is no such command in the session.", "`/help` shows all."),
    (
        "too-many-clients",
        "More clients of the gateway use a server that asks its clients than it may have connections.",
        "Close a client, or try again later.",
    ),
    (
        "failed",
        "Something broke down inside Switchboard.",
        "Please report it, with `switchboard doctor --report`.",
    ),
    (
        "environment",
        "The system does not say where we are.",
        "See to the home directory and the current directory.",
    ),
    (
        "runtime",
        "The system gives us nothing to wait with.",
        "See to the limits of open files and processes.",
    ),
    ("no-random-numbers", "The system gives no random numbers.", "See to the system."),
    ("input-output", "Standard input or output broke.", "See to what reads the output."),
    ("output", "The output cannot be written.", "See to what reads the output, or to the disk."),
    ("report", "The report could not be put together.", "Please report it."),
];
