//! The connection to a Temporal service. Options, environment variables and configuration files are those of Temporal's own tools.
//! A setting that the SDK cannot honour is an error here, so that nothing is less protected than it looks.

use anyhow::{Context as _, bail};
use clap::Args;
use temporalio_client::envconfig::{
    ClientConfigProfile, DataSource, LoadClientConfigProfileOptions,
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_common::envconfig::{ClientConfigTLS, load_client_config_profile};

const NAMESPACE_DEFAULT: &str = "default";
const ADDRESS_DEFAULT: &str = "localhost:7233";

/// The server, and how it knows this client.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Temporal")]
pub(crate) struct ConnectionArgs {
    /// Address of the Temporal service; localhost:7233 unless given [env: TEMPORAL_ADDRESS]
    #[arg(long, global = true, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Namespace; default unless given [env: TEMPORAL_NAMESPACE]
    #[arg(long, global = true, value_name = "NAME")]
    namespace: Option<String>,
    /// Profile of temporal.toml to use [env: TEMPORAL_PROFILE]
    #[arg(long, global = true, value_name = "NAME")]
    profile: Option<String>,
    /// API key, which turns TLS on; better kept in the environment [env: TEMPORAL_API_KEY]
    #[arg(long, global = true, value_name = "KEY")]
    api_key: Option<String>,
    /// Use TLS, with the certificates that this machine trusts [env: TEMPORAL_TLS]
    #[arg(long, global = true)]
    tls: bool,
    /// Certificate of this client [env: TEMPORAL_TLS_CLIENT_CERT_PATH]
    #[arg(long, global = true, value_name = "FILE", requires = "tls_key_path")]
    tls_cert_path: Option<String>,
    /// Private key of this client [env: TEMPORAL_TLS_CLIENT_KEY_PATH]
    #[arg(long, global = true, value_name = "FILE", requires = "tls_cert_path")]
    tls_key_path: Option<String>,
    /// Certificate authority of the server [env: TEMPORAL_TLS_SERVER_CA_CERT_PATH]
    #[arg(long, global = true, value_name = "FILE")]
    tls_ca_path: Option<String>,
    /// Name that the server's certificate must have [env: TEMPORAL_TLS_SERVER_NAME]
    #[arg(long, global = true, value_name = "NAME")]
    tls_server_name: Option<String>,
}

impl ConnectionArgs {
    /// Connects to the service.
    pub(crate) async fn connect(&self) -> anyhow::Result<Client> {
        let profile = self.profile()?;
        let address = profile.address.clone().unwrap_or_else(|| ADDRESS_DEFAULT.to_owned());
        let namespace = profile.namespace.clone().unwrap_or_else(|| NAMESPACE_DEFAULT.to_owned());
        let options = ConnectionOptions::try_from(profile)
            .map_err(|err| anyhow::anyhow!("{err}"))
            .context("the connection to Temporal cannot be set up")?;
        let connection = Connection::connect(options).await.with_context(|| {
            format!("Temporal does not answer at {address}: check --address and the TLS options")
        })?;
        Ok(Client::new(connection, ClientOptions::new(namespace).build())?)
    }

    /// Returns the settings of the file and the environment, with the options in front.
    fn profile(&self) -> anyhow::Result<ClientConfigProfile> {
        let sources = LoadClientConfigProfileOptions::builder()
            .maybe_config_file_profile(self.profile.clone())
            .build();
        let mut profile = load_client_config_profile(sources, None)
            .map_err(|err| anyhow::anyhow!("{err}"))
            .context("the configuration of Temporal cannot be used")?;
        profile.address = self.address.clone().or(profile.address);
        profile.namespace = self.namespace.clone().or(profile.namespace);
        profile.api_key = self.api_key.clone().or(profile.api_key);
        let file = |path: &Option<String>| path.clone().map(DataSource::Path);
        let (cert, key, authority) =
            (file(&self.tls_cert_path), file(&self.tls_key_path), file(&self.tls_ca_path));
        if self.tls || cert.is_some() || authority.is_some() || self.tls_server_name.is_some() {
            let tls = profile.tls.get_or_insert_with(ClientConfigTLS::default);
            tls.disabled = Some(false);
            tls.client_cert = cert.or(tls.client_cert.take());
            tls.client_key = key.or(tls.client_key.take());
            tls.server_ca_cert = authority.or(tls.server_ca_cert.take());
            tls.server_name = self.tls_server_name.clone().or(tls.server_name.take());
        }
        if profile.tls.as_ref().is_some_and(|tls| tls.disable_host_verification) {
            bail!(
                "haft-temporal always verifies the server: unset TEMPORAL_TLS_DISABLE_HOST_VERIFICATION, and name the certificate authority"
            );
        }
        if profile.codec.is_some() {
            bail!(
                "haft-temporal does not use a remote codec, so plans would lie in Temporal as they are: unset TEMPORAL_CODEC_ENDPOINT"
            );
        }
        Ok(profile)
    }
}
