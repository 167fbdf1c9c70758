//! Kernel descriptors: how a code object says that a kernel starts.
//!
//! Owns: the 64 bytes at a kernel's `.kd` symbol, and the initial registers that they define. Must not know: ELF,
//! packets. Layout: LLVM's "User Guide for AMDGPU Backend", "Kernel Descriptor"; the older amd_kernel_code_t of AMD's
//! runtime has the fields that are read here at the same offsets.

/// How many bytes are read.
pub const SIZE: usize = 64;

/// The initial state of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// From the descriptor to the first instruction.
    pub entry: i64,
    /// Vector registers that are allocated, accumulation registers included.
    pub registers: u32,
    /// The first bits of MODE.
    pub mode: u32,
    /// User registers that the descriptor requests.
    pub user: u32,
    /// Which values: bit 0 a scratch descriptor, 1 the packet, 2 the queue, 3 arguments, 4 the packet's number,
    /// 5 flat scratch, 6 a lane's memory size.
    pub properties: u32,
    /// Workgroup numbers x, y, z, and information, as system registers.
    pub system: [bool; 4],
    /// Waves have 32 lanes.
    pub wave32: bool,
    /// The offset of the wave's memory follows them.
    pub scratch: bool,
}

/// Why a descriptor cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

fn word(bytes: &[u8; SIZE], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

impl Kernel {
    /// Reads a descriptor. Errors: it requests unsupported features.
    pub fn read(bytes: &[u8; SIZE]) -> Result<Kernel, Error> {
        let (rsrc1, rsrc2, properties) =
            (word(bytes, 48), word(bytes, 52), word(bytes, 56) & 0xffff);
        let kernel = Kernel {
            entry: (u64::from(word(bytes, 16)) | u64::from(word(bytes, 20)) << 32) as i64,
            registers: ((rsrc1 & 63) + 1) * 8,
            mode: rsrc1 >> 12 & 0xff,
            user: rsrc2 >> 1 & 31,
            properties,
            system: [7, 8, 9, 10].map(|bit| rsrc2 >> bit & 1 == 1),
            wave32: properties & 1 << 10 != 0,
            scratch: rsrc2 & 1 == 1,
        };
        if kernel.mode & 15 != 0 {
            return Err(Error(format!(
                "rounding mode {:#x}: only rounding to the nearest even is executed",
                kernel.mode & 15
            )));
        }
        if kernel.user_words() > 32 {
            return Err(Error(format!(
                "{} user registers, of which there are 32",
                kernel.user_words()
            )));
        }
        Ok(kernel)
    }

    /// How many user registers the values take.
    pub fn user_words(&self) -> u32 {
        let widths = [4, 2, 2, 2, 2, 2, 1];
        widths
            .iter()
            .enumerate()
            .map(|(bit, width)| if self.properties >> bit & 1 == 1 { *width } else { 0 })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_llvm_puts_them() {
        let mut bytes = [0; SIZE];
        bytes[16..24].copy_from_slice(&0x1234i64.to_le_bytes());
        bytes[48..52].copy_from_slice(&(0xf0u32 << 12 | 3).to_le_bytes());
        bytes[52..56].copy_from_slice(&(1u32 | 8 << 1 | 1 << 7 | 1 << 9).to_le_bytes());
        bytes[56..58].copy_from_slice(&0b100_1011u16.to_le_bytes());
        let kernel = Kernel::read(&bytes).unwrap();
        assert_eq!(kernel.entry, 0x1234);
        assert_eq!(kernel.registers, 32);
        assert_eq!((kernel.mode, kernel.user, kernel.user_words()), (0xf0, 8, 9));
        assert_eq!((kernel.system, kernel.scratch), ([true, false, true, false], true));
        bytes[49] |= 0x10;
        assert!(Kernel::read(&bytes).is_err());
    }
}
