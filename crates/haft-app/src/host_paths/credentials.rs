//! Files and directories that hold secrets. A list of well-known places is never whole; it matters only where a root or a
//! readable directory encloses them, because nothing else of the home directory is visible to commands at all. The
//! documentation shows this table.

/// The places where one program keeps secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialOwner {
    /// The program.
    pub owner: &'static str,
    /// The page that says where they are.
    pub source: &'static str,
    /// The files and directories. `~/` is the home directory. A place below a directory of the XDG specification, such as
    /// `~/.config/`, is also below the directory that its variable names. `$NAME` is the value of a variable: a directory if
    /// a path follows, else one path or several with colons between.
    pub places: &'static [&'static str],
    /// The commands that use the secrets. haft names them for rules about these commands.
    pub programs: &'static [&'static str],
    /// Files of a directory that is worked in, where these commands find secrets, too. They are not hidden.
    pub in_roots: &'static [&'static str],
}

/// The places that are hidden from every command and every tool, in the order of the owners.
pub const CREDENTIALS: &[CredentialOwner] = &[
    owner(
        "1Password CLI",
        "https://developer.1password.com/docs/cli/config-directories/",
        &["$OP_CONFIG_DIR", "~/.config/op", "~/.op"],
    )
    .used_by(&["op"]),
    owner("aider", "https://aider.chat/docs/llms/openrouter.html", &["~/.aider"]),
    owner(
        "Alibaba Cloud CLI",
        "https://www.alibabacloud.com/help/en/cli/configure-credentials",
        &["~/.aliyun"],
    )
    .used_by(&["aliyun"]),
    owner(
        "Amazon Q",
        "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line.html",
        &["~/.local/share/amazon-q"],
    ),
    owner(
        "Anaconda",
        "https://docs.anaconda.com/anaconda-repository/user-guide/tasks/client/",
        &[
            "$BINSTAR_CONFIG_DIR",
            "$CONDARC",
            "~/.conda/.condarc",
            "~/.condarc",
            "~/.config/binstar",
            "~/.continuum",
        ],
    )
    .used_by(&["anaconda", "conda"]),
    owner(
        "Argo CD",
        "https://argo-cd.readthedocs.io/en/stable/user-guide/commands/argocd/",
        &["$ARGOCD_CONFIG_DIR", "~/.argocd", "~/.config/argocd"],
    )
    .used_by(&["argocd"]),
    owner("Atuin", "https://docs.atuin.sh/configuration/config/", &["~/.local/share/atuin"]),
    owner(
        "AWS CLI",
        "https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html",
        &["$AWS_CONFIG_FILE", "$AWS_SHARED_CREDENTIALS_FILE", "~/.aws"],
    )
    .used_by(&["aws"]),
    owner(
        "Azure CLI",
        "https://learn.microsoft.com/en-us/cli/azure/azure-cli-configuration",
        &["$AZURE_CONFIG_DIR", "~/.azure"],
    )
    .used_by(&["az"]),
    owner(
        "bash",
        "https://www.gnu.org/software/bash/manual/html_node/Bash-History-Facilities.html",
        &["~/.bash_history"],
    ),
    owner(
        "Bitwarden CLI",
        "https://bitwarden.com/help/cli/",
        &["$BITWARDENCLI_APPDATA_DIR", "~/.config/Bitwarden CLI"],
    )
    .used_by(&["bw"]),
    owner("boto", "https://boto.cloudhackers.com/en/latest/boto_config_tut.html", &["~/.boto"]),
    owner("Bun", "https://bun.com/docs/runtime/bunfig", &["~/.bunfig.toml"]),
    owner(
        "Bundler",
        "https://bundler.io/man/bundle-config.1.html",
        &["$BUNDLE_USER_CONFIG", "$BUNDLE_USER_HOME/config", "~/.bundle/config"],
    )
    .used_by(&["bundle"]),
    owner(
        "Cabal",
        "https://cabal.readthedocs.io/en/stable/config.html",
        &["$CABAL_CONFIG", "~/.cabal/config", "~/.config/cabal/config"],
    )
    .used_by(&["cabal"]),
    owner(
        "Cargo",
        "https://doc.rust-lang.org/cargo/reference/config.html#credentials",
        &[
            "$CARGO_HOME/credentials",
            "$CARGO_HOME/credentials.toml",
            "~/.cargo/credentials",
            "~/.cargo/credentials.toml",
        ],
    )
    .used_by(&["cargo"]),
    owner(
        "Chrome and Chromium",
        "https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md",
        &["~/.config/chromium", "~/.config/google-chrome"],
    ),
    owner(
        "Claude Code",
        "https://code.claude.com/docs/en/authentication",
        &[
            "$CLAUDE_CONFIG_DIR/.claude.json",
            "$CLAUDE_CONFIG_DIR/.credentials.json",
            "~/.claude.json",
            "~/.claude/.claude.json",
            "~/.claude/.credentials.json",
            "~/.claude/backups",
        ],
    ),
    owner(
        "Cline",
        "https://docs.cline.bot/getting-started/config",
        &[
            "$CLINE_DATA_DIR",
            "$CLINE_DIR/data/secrets.json",
            "$CLINE_DIR/data/settings",
            "~/.cline/data/secrets.json",
            "~/.cline/data/settings",
        ],
    ),
    owner(
        "cloudflared",
        "https://developers.cloudflare.com/cloudflare-one/connections/connect-networks/",
        &["~/.cloudflared"],
    )
    .used_by(&["cloudflared"]),
    owner(
        "Codex",
        "https://developers.openai.com/codex/auth",
        &[
            "$CODEX_HOME/.credentials.json",
            "$CODEX_HOME/auth.json",
            "~/.codex/.credentials.json",
            "~/.codex/auth.json",
        ],
    ),
    owner(
        "Composer",
        "https://getcomposer.org/doc/articles/authentication-for-private-packages.md",
        &["$COMPOSER_HOME/auth.json", "~/.composer/auth.json", "~/.config/composer/auth.json"],
    )
    .used_by(&["composer"]),
    owner(
        "Conan",
        "https://docs.conan.io/2/reference/commands/remote.html",
        &[
            "$CONAN_HOME/.conan.db",
            "$CONAN_HOME/credentials.json",
            "~/.conan/.conan.db",
            "~/.conan2/.conan.db",
            "~/.conan2/credentials.json",
            "~/.conan2/source_credentials.json",
        ],
    )
    .used_by(&["conan"]),
    owner(
        "containers",
        "https://github.com/containers/container-libs/tree/main/image/docs",
        &[
            "$REGISTRY_AUTH_FILE",
            "$XDG_RUNTIME_DIR/containers/auth.json",
            "~/.config/containers/auth.json",
        ],
    )
    .used_by(&["buildah", "podman", "skopeo"]),
    owner(
        "Continue",
        "https://docs.continue.dev/reference",
        &[
            "$CONTINUE_GLOBAL_DIR/.env",
            "$CONTINUE_GLOBAL_DIR/auth.json",
            "$CONTINUE_GLOBAL_DIR/config.yaml",
            "~/.continue/.env",
            "~/.continue/auth.json",
            "~/.continue/config.yaml",
        ],
    ),
    owner(
        "Coursier",
        "https://get-coursier.io/docs/other-credentials",
        &["~/.config/coursier/credentials.properties"],
    )
    .used_by(&["cs"]),
    owner("CPAN", "https://metacpan.org/dist/CPAN-Uploader/view/bin/cpan-upload", &["~/.pause"]),
    owner(
        "Crush",
        "https://github.com/charmbracelet/crush",
        &["$CRUSH_GLOBAL_CONFIG", "$CRUSH_GLOBAL_DATA", "~/.config/crush", "~/.local/share/crush"],
    ),
    owner(
        "Cursor CLI",
        "https://cursor.com/docs/cli/reference/authentication",
        &["~/.config/cursor/auth.json", "~/.cursor/auth.json"],
    ),
    owner(
        "Dart and Flutter",
        "https://dart.dev/tools/pub/cmd/pub-token",
        &["~/.config/dart", "~/.pub-cache/credentials.json"],
    )
    .used_by(&["dart", "flutter"]),
    owner(
        "Databricks CLI",
        "https://docs.databricks.com/aws/en/dev-tools/auth/config-profiles",
        &["$DATABRICKS_CONFIG_FILE", "~/.databricks", "~/.databrickscfg"],
    )
    .used_by(&["databricks"]),
    owner(
        "DigitalOcean CLI",
        "https://docs.digitalocean.com/reference/doctl/",
        &["~/.config/doctl"],
    )
    .used_by(&["doctl"]),
    owner(
        "Docker",
        "https://docs.docker.com/reference/cli/docker/login/",
        &["$DOCKER_CONFIG", "~/.docker/config.json", "~/.dockercfg"],
    )
    .used_by(&["docker"]),
    owner("Doppler CLI", "https://docs.doppler.com/docs/cli", &["~/.doppler"])
        .used_by(&["doppler"]),
    owner(
        "Exoscale CLI",
        "https://community.exoscale.com/tools/command-line-interface/",
        &["$EXOSCALE_CONFIG", "~/.config/exoscale", "~/.exoscale"],
    )
    .used_by(&["exo"]),
    owner("Firebase CLI", "https://firebase.google.com/docs/cli", &["~/.config/configstore"])
        .used_by(&["firebase"]),
    owner(
        "Firefox",
        "https://support.mozilla.org/en-US/kb/profiles-where-firefox-stores-user-data",
        &["~/.config/mozilla", "~/.mozilla", "~/.var/app/org.mozilla.firefox", "~/snap/firefox"],
    ),
    owner(
        "fish",
        "https://fishshell.com/docs/current/cmds/history.html",
        &["~/.local/share/fish/fish_history"],
    ),
    owner("Fly", "https://fly.io/docs/flyctl/", &["$FLY_CONFIG_DIR", "~/.fly"])
        .used_by(&["fly", "flyctl"]),
    owner(
        "Gemini CLI",
        "https://geminicli.com/docs/reference/configuration/",
        &[
            "$GEMINI_CLI_HOME/.gemini/.env",
            "$GEMINI_CLI_HOME/.gemini/a2a-oauth-tokens.json",
            "$GEMINI_CLI_HOME/.gemini/gemini-credentials.json",
            "$GEMINI_CLI_HOME/.gemini/google_accounts.json",
            "$GEMINI_CLI_HOME/.gemini/mcp-oauth-tokens.json",
            "$GEMINI_CLI_HOME/.gemini/oauth_creds.json",
            "~/.gemini/.env",
            "~/.gemini/a2a-oauth-tokens.json",
            "~/.gemini/gemini-credentials.json",
            "~/.gemini/google_accounts.json",
            "~/.gemini/mcp-oauth-tokens.json",
            "~/.gemini/oauth_creds.json",
        ],
    ),
    owner(
        "git",
        "https://git-scm.com/docs/git-credential-store",
        &["~/.config/git/credentials", "~/.git-credentials"],
    )
    .used_by(&["git"])
    .in_roots(&[".git-credentials"]),
    owner(
        "Git Credential Manager",
        "https://github.com/git-ecosystem/git-credential-manager/tree/main/docs",
        &["$GCM_PLAINTEXT_STORE_PATH", "~/.gcm/store"],
    )
    .used_by(&["git"]),
    owner(
        "GitHub CLI",
        "https://cli.github.com/manual/gh_auth_login",
        &["$GH_CONFIG_DIR", "~/.config/gh"],
    )
    .used_by(&["gh"]),
    owner(
        "GitHub Copilot",
        "https://docs.github.com/en/copilot/reference/copilot-cli-reference",
        &[
            "$COPILOT_HOME/config.json",
            "$COPILOT_HOME/mcp-oauth-config",
            "$COPILOT_HOME/mcp-secrets",
            "$COPILOT_HOME/providers.json",
            "$COPILOT_PROVIDERS_CONFIG",
            "~/.config/github-copilot",
            "~/.copilot/config.json",
            "~/.copilot/mcp-oauth-config",
            "~/.copilot/mcp-secrets",
            "~/.copilot/providers.json",
        ],
    ),
    owner(
        "GitLab CLI",
        "https://docs.gitlab.com/cli/",
        &["$GLAB_CONFIG_DIR", "~/.config/glab-cli"],
    )
    .used_by(&["glab"]),
    owner(
        "GNOME Keyring",
        "https://wiki.gnome.org/Projects/GnomeKeyring",
        &["~/.local/share/keyrings"],
    ),
    owner(
        "GnuPG",
        "https://www.gnupg.org/documentation/manuals/gnupg/GPG-Configuration.html",
        &["$GNUPGHOME", "~/.gnupg"],
    )
    .used_by(&["gpg"]),
    owner(
        "Google Cloud CLI",
        "https://cloud.google.com/sdk/docs/configurations",
        &["$CLOUDSDK_CONFIG", "$GOOGLE_APPLICATION_CREDENTIALS", "~/.config/gcloud"],
    )
    .used_by(&["bq", "gcloud", "gsutil"]),
    owner(
        "goose",
        "https://github.com/aaif-goose/goose/blob/main/documentation/docs/guides/config-files.md",
        &[
            "$GOOSE_PATH_ROOT/config/secrets.yaml",
            "~/.config/goose/databricks",
            "~/.config/goose/githubcopilot",
            "~/.config/goose/secrets.yaml",
        ],
    ),
    owner(
        "Gradle",
        "https://docs.gradle.org/current/userguide/build_environment.html",
        &["$GRADLE_USER_HOME/gradle.properties", "~/.gradle/gradle.properties"],
    )
    .used_by(&["gradle"]),
    owner(
        "Helm",
        "https://helm.sh/docs/helm/helm_registry_login/",
        &[
            "$HELM_REGISTRY_CONFIG",
            "$HELM_REPOSITORY_CONFIG",
            "~/.config/helm/registry",
            "~/.config/helm/repositories.yaml",
        ],
    )
    .used_by(&["helm"]),
    owner(
        "Hetzner Cloud CLI",
        "https://github.com/hetznercloud/cli",
        &["$HCLOUD_CONFIG", "~/.config/hcloud"],
    )
    .used_by(&["hcloud"]),
    owner(
        "Hex",
        "https://hexdocs.pm/hex/Mix.Tasks.Hex.Config.html",
        &["$HEX_HOME/hex.config", "~/.hex/hex.config"],
    )
    .used_by(&["mix"]),
    owner("hub", "https://hub.github.com/hub.1.html", &["~/.config/hub"]).used_by(&["hub"]),
    owner(
        "Hugging Face",
        "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables",
        &[
            "$HF_HOME/stored_tokens",
            "$HF_HOME/token",
            "$HF_TOKEN_PATH",
            "~/.cache/huggingface/stored_tokens",
            "~/.cache/huggingface/token",
            "~/.huggingface",
        ],
    )
    .used_by(&["hf", "huggingface-cli"]),
    owner("IBM Cloud CLI", "https://cloud.ibm.com/docs/cli", &["~/.bluemix"])
        .used_by(&["ibmcloud"]),
    owner(
        "isync and msmtp",
        "https://marlam.de/msmtp/msmtp.html",
        &["~/.config/msmtp", "~/.fetchmailrc", "~/.mbsyncrc", "~/.msmtprc"],
    ),
    owner(
        "Ivy and sbt",
        "https://www.scala-sbt.org/1.x/docs/Publishing.html",
        &["~/.ivy2/.credentials", "~/.sbt/.credentials"],
    ),
    owner(
        "JFrog CLI",
        "https://docs.jfrog-applications.jfrog.io/jfrog-applications/jfrog-cli",
        &["$JFROG_CLI_HOME_DIR", "~/.jfrog"],
    )
    .used_by(&["jf", "jfrog"]),
    owner(
        "Kaggle",
        "https://github.com/Kaggle/kaggle-api",
        &["$KAGGLE_CONFIG_DIR", "~/.config/kaggle", "~/.kaggle"],
    )
    .used_by(&["kaggle"]),
    owner(
        "Kimi CLI",
        "https://github.com/MoonshotAI/kimi-cli",
        &[
            "$KIMI_SHARE_DIR/config.toml",
            "$KIMI_SHARE_DIR/credentials",
            "$KIMI_SHARE_DIR/mcp-oauth",
            "~/.kimi/config.toml",
            "~/.kimi/credentials",
            "~/.kimi/mcp-oauth",
        ],
    ),
    owner(
        "Kiro CLI",
        "https://docs.docker.com/ai/sandboxes/agents/kiro/",
        &["~/.local/share/kiro-cli"],
    ),
    owner(
        "Kubernetes",
        "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/",
        &["$KUBECONFIG", "~/.kube"],
    )
    .used_by(&["helm", "kubectl"]),
    owner(
        "KWallet",
        "https://docs.kde.org/stable5/en/kwalletmanager/kwallet5/",
        &["~/.local/share/kwalletd"],
    ),
    owner(
        "Linode CLI",
        "https://techdocs.akamai.com/cloud-computing/docs/cli",
        &["$LINODE_CLI_CONFIG", "~/.config/linode-cli"],
    )
    .used_by(&["linode-cli"]),
    owner(
        "Linux",
        "https://man7.org/linux/man-pages/man5/shadow.5.html",
        &[
            "/etc/gshadow",
            "/etc/gshadow-",
            "/etc/security/opasswd",
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/sudoers",
            "/etc/sudoers.d",
        ],
    ),
    owner(
        "Linux network services",
        "https://networkmanager.dev/docs/api/latest/nm-settings-keyfile.html",
        &[
            "/etc/NetworkManager/system-connections",
            "/etc/ipsec.secrets",
            "/etc/krb5.keytab",
            "/etc/openvpn",
            "/etc/ppp/chap-secrets",
            "/etc/ppp/pap-secrets",
            "/etc/wireguard",
        ],
    ),
    owner(
        "Linux services with keys",
        "https://eff-certbot.readthedocs.io/en/stable/using.html",
        &["/etc/docker/key.json", "/etc/letsencrypt", "/etc/ssl/private"],
    ),
    owner(
        "llm",
        "https://llm.datasette.io/en/stable/setup.html",
        &["$LLM_USER_PATH/keys.json", "~/.config/io.datasette.llm/keys.json"],
    ),
    owner(
        "LuaRocks",
        "https://github.com/luarocks/luarocks/blob/main/docs/luarocks_upload.md",
        &["~/.config/luarocks/upload_config.lua", "~/.luarocks/upload_config.lua"],
    )
    .used_by(&["luarocks"]),
    owner(
        "Maven",
        "https://maven.apache.org/guides/mini/guide-encryption.html",
        &["~/.m2/settings-security.xml", "~/.m2/settings.xml"],
    )
    .used_by(&["mvn"]),
    owner(
        "Mercurial",
        "https://www.mercurial-scm.org/help/topics/config",
        &["~/.config/hg/hgrc", "~/.hgrc"],
    )
    .used_by(&["hg"]),
    owner(
        "Mistral Vibe",
        "https://github.com/mistralai/mistral-vibe",
        &["$VIBE_HOME/.env", "~/.vibe/.env"],
    ),
    owner(
        "Modal",
        "https://modal.com/docs/reference/modal.config",
        &["$MODAL_CONFIG_PATH", "~/.modal.toml"],
    )
    .used_by(&["modal"]),
    owner(
        "MySQL",
        "https://dev.mysql.com/doc/refman/8.4/en/option-files.html",
        &["/etc/mysql/debian.cnf", "~/.my.cnf", "~/.mylogin.cnf", "~/.mysql_history"],
    )
    .used_by(&["mysql", "mysqldump"]),
    owner("Neon CLI", "https://neon.com/docs/reference/neon-cli", &["~/.config/neonctl"])
        .used_by(&["neonctl"]),
    owner(
        "Netlify CLI",
        "https://docs.netlify.com/api-and-cli-guides/cli-guides/get-started-with-cli/",
        &["~/.config/netlify", "~/.netlify"],
    )
    .used_by(&["netlify"]),
    owner(
        "netrc",
        "https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html",
        &["$NETRC", "~/.netrc"],
    )
    .used_by(&["curl", "git", "heroku", "pip", "uv", "wget"]),
    owner("ngrok", "https://ngrok.com/docs/agent/config/", &["~/.config/ngrok", "~/.ngrok2"])
        .used_by(&["ngrok"]),
    owner(
        "Node.js",
        "https://nodejs.org/api/repl.html#persistent-history",
        &["~/.node_repl_history"],
    ),
    owner(
        "npm",
        "https://docs.npmjs.com/cli/configuring-npm/npmrc",
        &["$NPM_CONFIG_USERCONFIG", "$npm_config_userconfig", "~/.npmrc"],
    )
    .used_by(&["npm", "npx", "pnpm", "yarn"])
    .in_roots(&[".npmrc"]),
    owner(
        "NuGet",
        "https://learn.microsoft.com/en-us/nuget/consume-packages/configuring-nuget-behavior",
        &["~/.config/NuGet", "~/.nuget/NuGet", "~/.nuget/NuGet.Config"],
    )
    .used_by(&["dotnet", "nuget"]),
    owner("opencode", "https://opencode.ai/docs/providers/", &["~/.local/share/opencode"]),
    owner(
        "OpenSSH",
        "https://man.openbsd.org/ssh#FILES",
        &[
            "/etc/ssh/ssh_host_dsa_key",
            "/etc/ssh/ssh_host_ecdsa_key",
            "/etc/ssh/ssh_host_ed25519_key",
            "/etc/ssh/ssh_host_rsa_key",
            "~/.ssh",
        ],
    )
    .used_by(&["git", "rsync", "scp", "sftp", "ssh"]),
    owner(
        "OpenTofu",
        "https://opentofu.org/docs/cli/config/config-file/",
        &["~/.config/opentofu", "~/.tofurc"],
    )
    .used_by(&["tofu"]),
    owner(
        "Oracle Cloud CLI",
        "https://docs.oracle.com/en-us/iaas/Content/API/Concepts/sdkconfig.htm",
        &["$OCI_CLI_CONFIG_FILE", "~/.oci"],
    )
    .used_by(&["oci"]),
    owner("pass", "https://www.passwordstore.org/", &["$PASSWORD_STORE_DIR", "~/.password-store"])
        .used_by(&["pass"]),
    owner(
        "Pi",
        "https://github.com/badlogic/pi-mono",
        &["$PI_CODING_AGENT_DIR/auth.json", "~/.pi/agent/auth.json"],
    ),
    owner(
        "pip",
        "https://pip.pypa.io/en/stable/topics/configuration/",
        &["$PIP_CONFIG_FILE", "~/.config/pip/pip.conf", "~/.pip/pip.conf"],
    )
    .used_by(&["pip"]),
    owner(
        "pixi and rattler",
        "https://pixi.sh/latest/deployment/authentication/",
        &["$RATTLER_AUTH_FILE", "~/.rattler"],
    )
    .used_by(&["pixi"]),
    owner(
        "PlanetScale CLI",
        "https://planetscale.com/docs/reference/planetscale-cli",
        &["~/.config/planetscale"],
    )
    .used_by(&["pscale"]),
    owner("pnpm", "https://pnpm.io/cli/config", &["~/.config/pnpm/auth.ini", "~/.config/pnpm/rc"])
        .used_by(&["pnpm"]),
    owner(
        "Poetry",
        "https://python-poetry.org/docs/repositories/#configuring-credentials",
        &["$POETRY_CONFIG_DIR/auth.toml", "~/.config/pypoetry/auth.toml"],
    )
    .used_by(&["poetry"]),
    owner(
        "PostgreSQL",
        "https://www.postgresql.org/docs/current/libpq-pgpass.html",
        &["$PGPASSFILE", "$PGSERVICEFILE", "~/.pg_service.conf", "~/.pgpass", "~/.psql_history"],
    )
    .used_by(&["pg_dump", "psql"]),
    owner(
        "Pulumi",
        "https://www.pulumi.com/docs/iac/cli/commands/pulumi_login/",
        &[
            "$PULUMI_CREDENTIALS_PATH/credentials.json",
            "$PULUMI_HOME/credentials.json",
            "~/.pulumi/credentials.json",
        ],
    )
    .used_by(&["pulumi"]),
    owner("PyPI", "https://packaging.python.org/en/latest/specifications/pypirc/", &["~/.pypirc"])
        .used_by(&["twine"]),
    owner(
        "Python",
        "https://docs.python.org/3/library/site.html#rlcompleter-config",
        &["$PYTHON_HISTORY", "~/.python_history"],
    ),
    owner(
        "Qwen Code",
        "https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings",
        &[
            "$QWEN_HOME/.env",
            "$QWEN_HOME/mcp-oauth-tokens.json",
            "$QWEN_HOME/oauth_creds.json",
            "~/.qwen/.env",
            "~/.qwen/mcp-oauth-tokens.json",
            "~/.qwen/oauth_creds.json",
        ],
    ),
    owner("Railway CLI", "https://docs.railway.com/cli", &["~/.railway"]).used_by(&["railway"]),
    owner(
        "rclone",
        "https://rclone.org/docs/#config-file",
        &["$RCLONE_CONFIG", "~/.config/rclone", "~/.rclone.conf"],
    )
    .used_by(&["rclone"]),
    owner(
        "Roo Code CLI",
        "https://github.com/RooCodeInc/Roo-Code",
        &["~/.roo/cli-credentials.json"],
    ),
    owner(
        "RubyGems",
        "https://guides.rubygems.org/api-key-scopes/",
        &["~/.gem/credentials", "~/.local/share/gem/credentials"],
    )
    .used_by(&["gem"]),
    owner("s3cmd", "https://s3tools.org/kb/item14.htm", &["~/.s3cfg"]).used_by(&["s3cmd"]),
    owner(
        "Scaleway CLI",
        "https://github.com/scaleway/scaleway-cli",
        &["$SCW_CONFIG_PATH", "~/.config/scw"],
    )
    .used_by(&["scw"]),
    owner(
        "Sentry CLI",
        "https://docs.sentry.io/cli/configuration/",
        &["$SENTRY_CONFIG_DIR", "$SENTRY_PROPERTIES", "~/.sentry", "~/.sentryclirc"],
    )
    .used_by(&["sentry-cli"]),
    owner(
        "Snowflake",
        "https://docs.snowflake.com/en/developer-guide/snowflake-cli/connecting/configure-cli",
        &["$SNOWFLAKE_HOME", "~/.config/snowflake", "~/.snowflake", "~/.snowsql", "~/.snowsql.cnf"],
    )
    .used_by(&["snow", "snowsql"]),
    owner("SOPS", "https://github.com/getsops/sops", &["~/.config/sops"]),
    owner("SQLite", "https://sqlite.org/cli.html", &["~/.sqlite_history"]),
    owner("Stripe CLI", "https://docs.stripe.com/stripe-cli", &["~/.config/stripe"])
        .used_by(&["stripe"]),
    owner(
        "Subversion",
        "https://svnbook.red-bean.com/en/1.8/svn.advanced.confarea.html",
        &["~/.subversion/auth"],
    )
    .used_by(&["svn"]),
    owner("Supabase CLI", "https://supabase.com/docs/reference/cli/introduction", &["~/.supabase"])
        .used_by(&["supabase"]),
    owner(
        "Teleport",
        "https://goteleport.com/docs/reference/cli/tsh/",
        &["$TELEPORT_HOME", "~/.tsh"],
    )
    .used_by(&["tsh"]),
    owner(
        "Terraform",
        "https://developer.hashicorp.com/terraform/cli/config/config-file",
        &["$TF_CLI_CONFIG_FILE", "~/.terraform.d/credentials.tfrc.json", "~/.terraformrc"],
    )
    .used_by(&["terraform"]),
    owner(
        "Turso CLI",
        "https://docs.turso.tech/cli/introduction",
        &["$TURSO_CONFIG_FOLDER", "~/.config/turso"],
    )
    .used_by(&["turso"]),
    owner(
        "uv",
        "https://docs.astral.sh/uv/concepts/authentication/http/",
        &[
            "$PYX_CREDENTIALS_DIR",
            "$UV_CREDENTIALS_DIR",
            "~/.local/share/pyx/credentials",
            "~/.local/share/uv/credentials",
        ],
    )
    .used_by(&["uv"]),
    owner(
        "Vault",
        "https://developer.hashicorp.com/vault/docs/commands/token-helper",
        &["~/.vault-token"],
    )
    .used_by(&["vault"]),
    owner(
        "Vercel CLI",
        "https://vercel.com/docs/project-configuration/global-configuration",
        &[
            "~/.local/share/com.vercel.cli",
            "~/.local/share/com.vercel.token",
            "~/.local/share/now",
            "~/.now",
        ],
    )
    .used_by(&["vercel"]),
    owner(
        "vsce",
        "https://code.visualstudio.com/api/working-with-extensions/publishing-extension",
        &["~/.vsce"],
    )
    .used_by(&["vsce"]),
    owner(
        "Wrangler",
        "https://developers.cloudflare.com/workers/wrangler/",
        &["~/.config/.wrangler", "~/.config/cloudflare", "~/.wrangler"],
    )
    .used_by(&["wrangler"]),
    owner("Yarn", "https://yarnpkg.com/configuration/yarnrc", &["~/.yarnrc", "~/.yarnrc.yml"])
        .used_by(&["yarn"])
        .in_roots(&[".yarnrc.yml"]),
    owner(
        "zsh",
        "https://zsh.sourceforge.io/Doc/Release/Options.html#History",
        &["$HISTFILE", "~/.histfile", "~/.zsh_history"],
    ),
];

const fn owner(
    owner: &'static str,
    source: &'static str,
    places: &'static [&'static str],
) -> CredentialOwner {
    CredentialOwner { owner, source, places, programs: &[], in_roots: &[] }
}

impl CredentialOwner {
    const fn used_by(mut self, programs: &'static [&'static str]) -> Self {
        self.programs = programs;
        self
    }

    const fn in_roots(mut self, names: &'static [&'static str]) -> Self {
        self.in_roots = names;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_so_that_twins_show() {
        assert!(CREDENTIALS.is_sorted_by_key(|it| it.owner.to_lowercase()));
        for CredentialOwner { owner, source, places, programs, in_roots } in CREDENTIALS {
            assert!(places.is_sorted() && !places.is_empty(), "{owner}");
            assert!(
                programs.is_sorted() && (in_roots.is_empty() || !programs.is_empty()),
                "{owner}"
            );
            assert!(source.starts_with("https://"), "{owner}");
        }
        let mut all: Vec<&str> = CREDENTIALS.iter().flat_map(|it| it.places).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
