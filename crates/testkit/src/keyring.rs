//! A real keyring for one test: a bus of its own, and the keyring of GNOME on it, with its files in the test's home.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::eventually_blocking;

const SERVICE: &str = "/org/freedesktop/secrets";

/// A keyring that is open. It ends with this value.
#[derive(Debug)]
pub struct Keyring {
    children: Vec<Child>,
    /// What `DBUS_SESSION_BUS_ADDRESS` must be for a program to find it.
    pub address: String,
}

impl Keyring {
    /// Starts one whose files are below a home.
    ///
    /// # Panics
    ///
    /// When there is none on this machine, in which case the test cannot run.
    pub fn start(home: &Path) -> Self {
        let mut keyring = Self::bus(home);
        let mut daemon = spawn(
            home,
            "gnome-keyring-daemon",
            &["--unlock", "--components=secrets", "--foreground"],
            Some(&keyring.address),
        );
        // The password of the keyring, which makes one where there is none.
        drop(daemon.stdin.take().map(|mut stdin| stdin.write_all(b"password")));
        keyring.children.push(daemon);
        let answer = || keyring.say("ReadAlias", "string:default");
        eventually_blocking("the keyring opens", answer, |answer| answer.contains("/collection/"));
        keyring
    }

    /// A bus without a keyring.
    ///
    /// # Panics
    ///
    /// When there is none on this machine, in which case the test cannot run.
    #[expect(clippy::expect_used, reason = "a test that cannot start its keyring must stop")]
    pub fn bus(home: &Path) -> Self {
        let config = home.join("bus.conf");
        // Nobody is started because somebody asks for them.
        let text = format!(
            "<busconfig><type>session</type><listen>unix:tmpdir={}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\
             <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>",
            home.display()
        );
        std::fs::write(&config, text).expect("the configuration of a bus");
        let config = format!("--config-file={}", config.display());
        let mut daemon =
            spawn(home, "dbus-daemon", &["--nofork", "--nopidfile", "--print-address=1", &config], None);
        let stdout = daemon.stdout.take().expect("its output");
        let mut keyring = Self { children: vec![daemon], address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the address of the bus");
        line.trim().clone_into(&mut keyring.address);
        assert!(keyring.address.starts_with("unix:"), "the bus did not start");
        keyring
    }

    /// Locks it. Nobody can open it again but the user, in a dialog.
    pub fn lock(&self) {
        self.say("Lock", &format!("array:objpath:{SERVICE}/collection/login"));
    }

    /// What the keyring answers.
    fn say(&self, method: &str, argument: &str) -> String {
        let mut command = Command::new("dbus-send");
        command.env_clear().env("DBUS_SESSION_BUS_ADDRESS", &self.address).env("PATH", "/usr/bin:/bin");
        command.args(["--session", "--print-reply", "--dest=org.freedesktop.secrets", SERVICE]);
        command.args([&format!("org.freedesktop.Secret.Service.{method}"), argument]);
        command
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Starts a program that a test cannot do without.
fn spawn(home: &Path, program: &str, args: &[&str], address: Option<&str>) -> Child {
    crate::peers();
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home).args(args);
    command.envs(address.map(|address| ("DBUS_SESSION_BUS_ADDRESS", address)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| {
        panic!("`{program}` cannot be started ({error}). Install it: apt-get install dbus gnome-keyring")
    })
}
