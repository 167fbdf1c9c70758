//! The layout of the memory that host and device share, and the numbers of opcodes.
//!
//! Owns numbers only. Source: LLVM's `libc/shared/rpc.h` and `rpc_opcodes.h`; the client's size was compared with
//! what clang 19 compiles for nvptx64 and amdgcn.

/// The most ports that a client has locks for.
pub const MOST_PORTS: u32 = 4096;
/// Bytes of a packet: what a lane sends at once.
pub const PACKET: usize = 64;
/// Words of a packet.
pub const WORDS: usize = PACKET / 8;
/// Bytes of `rpc::Client`, the device's variable [`CLIENT`].
pub const CLIENT_SIZE: usize = 552;
/// The device's variable that the host fills: the client itself, or in older releases a pointer to it.
pub const CLIENT: &str = "__llvm_rpc_client";
/// Its name before LLVM 20.
pub const OLD_CLIENT: &str = "__llvm_libc_rpc_client";

const HEADER: usize = 16;

/// How many ports there are, and how many lanes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    ports: u32,
    lanes: u32,
}

impl Shape {
    /// A shape of 1 to [`MOST_PORTS`] ports, and 1, 32 or 64 lanes; none for anything else.
    pub fn new(ports: u32, lanes: u32) -> Option<Self> {
        ((1..=MOST_PORTS).contains(&ports) && matches!(lanes, 1 | 32 | 64))
            .then_some(Shape { ports, lanes })
    }

    /// Ports: conversations at a time.
    pub fn ports(self) -> u32 {
        self.ports
    }

    /// Lanes of a warp or wave.
    pub fn lanes(self) -> u32 {
        self.lanes
    }

    /// Bytes of the shared memory. It must be aligned to 8 and begin as zeros.
    pub fn size(self) -> usize {
        self.packets() + self.ports as usize * self.lanes as usize * PACKET
    }

    /// Offset of the words that the client reads and the server writes.
    pub(crate) fn primary(self) -> usize {
        0
    }

    /// Offset of the words that the server reads and the client writes.
    pub(crate) fn secondary(self) -> usize {
        4 * self.ports as usize
    }

    /// Offset of the headers: the lanes' mask, and the opcode at 8.
    pub(crate) fn headers(self) -> usize {
        8 * self.ports as usize
    }

    /// Offset of the packets, those of a port's lanes one after the other.
    pub(crate) fn packets(self) -> usize {
        (8 + HEADER) * self.ports as usize
    }

    pub(crate) fn header(self, port: u32) -> usize {
        self.headers() + HEADER * port as usize
    }

    pub(crate) fn packet(self, port: u32, lane: u32) -> usize {
        self.packets() + PACKET * (port as usize * self.lanes as usize + lane as usize)
    }

    /// `rpc::Client` for shared memory that the device sees at `base`.
    pub fn client(self, base: u64) -> [u8; CLIENT_SIZE] {
        let mut client = [0; CLIENT_SIZE];
        client[..4].copy_from_slice(&self.ports.to_le_bytes());
        let places = [self.primary(), self.secondary(), self.headers(), self.packets()];
        for (field, at) in places.into_iter().enumerate() {
            let address = base.wrapping_add(at as u64).to_le_bytes();
            if let Some(to) = client.get_mut(8 + 8 * field..16 + 8 * field) {
                to.copy_from_slice(&address);
            }
        }
        client
    }
}

/// Opcodes of LLVM's C library.
const LIBC: u32 = (b'c' as u32) << 24;
/// LLVM's offload runtime's own call of a host function.
pub const OFFLOAD_HOST_CALL: u32 = (b'o' as u32) << 24;

macro_rules! opcodes {
    ($($name:ident)*) => {
        /// The device's requests by opcode: the letter `c` in the highest byte, and a number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        #[allow(missing_docs, non_camel_case_types, clippy::upper_case_acronyms)]
        pub enum Opcode { $($name,)* }

        impl Opcode {
            /// All, in the order of their numbers.
            pub const ALL: &[Opcode] = &[$(Opcode::$name,)*];

            /// LLVM's name, without `LIBC_`.
            pub fn name(self) -> &'static str {
                match self { $(Opcode::$name => stringify!($name),)* }
            }
        }
    };
}

opcodes! {
    NOOP EXIT WRITE_TO_STDOUT WRITE_TO_STDERR WRITE_TO_STREAM WRITE_TO_STDOUT_NEWLINE READ_FROM_STREAM READ_FGETS
    OPEN_FILE CLOSE_FILE MALLOC FREE HOST_CALL ABORT FEOF FERROR CLEARERR FSEEK FTELL FFLUSH UNGETC PRINTF_TO_STDOUT
    PRINTF_TO_STDERR PRINTF_TO_STREAM PRINTF_TO_STDOUT_PACKED PRINTF_TO_STDERR_PACKED PRINTF_TO_STREAM_PACKED REMOVE
    RENAME SYSTEM
}

impl Opcode {
    /// Its number as the device writes it.
    pub fn number(self) -> u32 {
        LIBC + self as u32
    }

    /// The opcode of a number.
    pub fn of(number: u32) -> Option<Self> {
        if number == OFFLOAD_HOST_CALL {
            return Some(Opcode::HOST_CALL);
        }
        Opcode::ALL.get(number.checked_sub(LIBC)? as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_reference() {
        assert_eq!(Shape::new(4096, 32).unwrap().size(), 8_486_912);
        assert_eq!(Shape::new(4096, 64).unwrap().size(), 16_875_520);
        for (ports, lanes) in [(0, 32), (4097, 32), (1, 0), (1, 33)] {
            assert_eq!(Shape::new(ports, lanes), None);
        }
        let client = Shape::new(3, 32).unwrap().client(0x1000);
        let word = |at: usize| u64::from_le_bytes(client[at..at + 8].try_into().unwrap());
        let fields = [word(0), word(8), word(16), word(24), word(32), word(40)];
        assert_eq!(fields, [3, 0x1000, 0x100c, 0x1018, 0x1048, 0]);
    }

    #[test]
    fn opcodes_are_those_of_the_reference() {
        assert_eq!(Opcode::SYSTEM.number(), 0x6300_001d);
        assert_eq!(Opcode::PRINTF_TO_STDOUT.number(), 0x6300_0015);
        assert_eq!(Opcode::of(0x6300_0001), Some(Opcode::EXIT));
        assert_eq!(Opcode::of(0x6f00_0000), Some(Opcode::HOST_CALL));
        for unknown in [0, 1, 0x6300_001e, 0x6f00_0001, u32::MAX] {
            assert_eq!(Opcode::of(unknown), None);
        }
    }
}
