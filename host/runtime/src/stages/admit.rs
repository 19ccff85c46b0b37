//! Stage one: are these bytes a component of an acceptable size?

use gatehouse_model::Digest;

use crate::signatures::SignatureError;

/// A component and its signature.
#[derive(Clone, Copy, Debug)]
pub struct SignedComponent<'a> {
    /// The component's bytes.
    pub wasm: &'a [u8],
    /// The line of its signature file, if there is one.
    pub signature: Option<&'a str>,
}

impl<'a, B: AsRef<[u8]> + ?Sized> From<&'a B> for SignedComponent<'a> {
    fn from(wasm: &'a B) -> Self {
        Self { wasm: wasm.as_ref(), signature: None }
    }
}

/// Why bytes were not admitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmitError {
    /// A core module.
    #[error("this is a core module, not a component; build it for wasm32-wasip2")]
    CoreModule,
    /// Machine code: the host cannot check it.
    #[error("this is compiled code; the host accepts components only and compiles them itself")]
    MachineCode,
    /// Something else.
    #[error(
        "this is not a WebAssembly component; build the plugin for wasm32-wasip2 and give its .wasm file"
    )]
    NotWasm,
    /// Its signature is missing or not acceptable.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// More bytes than allowed.
    #[error("the component has {bytes} bytes, {limit} are allowed; raise `component_mib` for this family")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
const ELF: [u8; 4] = *b"\x7fELF";

/// The digest of an admissible component.
pub(crate) fn admit(wasm: &[u8], limit: usize) -> Result<Digest, AdmitError> {
    if wasm.len() > limit {
        return Err(AdmitError::TooLarge { bytes: wasm.len(), limit });
    }
    if wasm.starts_with(&COMPONENT) {
        Ok(Digest::of(wasm))
    } else if wasm.starts_with(&MODULE) {
        Err(AdmitError::CoreModule)
    } else if wasm.starts_with(&ELF) {
        Err(AdmitError::MachineCode)
    } else {
        Err(AdmitError::NotWasm)
    }
}
