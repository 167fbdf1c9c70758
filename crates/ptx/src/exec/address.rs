//! The windows of state spaces in the generic address space.
//!
//! Owns the windows of shared, local and parameter memory, and the values of function pointers. All windows lie above
//! what a process can map (47 bits) and within the range of device addresses. Must not know what is at an address.

use crate::types::Space;

/// Generic addresses from here on mean shared memory.
pub const SHARED_WINDOW: u64 = 0x8100_0000_0000;
/// Generic addresses from here on mean the lane's local memory.
pub const LOCAL_WINDOW: u64 = 0x8200_0000_0000;
/// Generic addresses from here on mean the kernel's parameters.
pub const PARAM_WINDOW: u64 = 0x8300_0000_0000;
/// Function pointers: this plus 16 times the function's number.
pub const FUNCTION_WINDOW: u64 = 0x8400_0000_0000;
/// The bytes of a window.
pub const WINDOW_SIZE: u64 = 1 << 32;

/// The value of a pointer to a function of the module.
pub fn function_pointer(function: u32) -> u64 {
    FUNCTION_WINDOW + 16 * u64::from(function)
}

/// The number of the function that a pointer means in a module of `functions`; `None` if there is none.
pub fn pointed_function(pointer: u64, functions: usize) -> Option<u32> {
    let at = pointer.wrapping_sub(FUNCTION_WINDOW);
    let number = u32::try_from(at / 16).ok()?;
    (at.is_multiple_of(16) && (number as usize) < functions).then_some(number)
}

/// The first generic address of a space that has a window; `None` for global and constant memory, whose addresses are
/// generic addresses.
pub fn window(space: Space) -> Option<u64> {
    match space {
        Space::Shared => Some(SHARED_WINDOW),
        Space::Local => Some(LOCAL_WINDOW),
        Space::Param => Some(PARAM_WINDOW),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_mean_functions_of_the_module_and_nothing_else() {
        assert_eq!(pointed_function(function_pointer(0), 3), Some(0));
        assert_eq!(pointed_function(function_pointer(2), 3), Some(2));
        assert_eq!(pointed_function(function_pointer(3), 3), None);
        assert_eq!(pointed_function(function_pointer(1) + 8, 3), None);
        assert_eq!(pointed_function(FUNCTION_WINDOW - 16, 3), None);
        assert_eq!(pointed_function(0, 3), None);
        assert_eq!(pointed_function(FUNCTION_WINDOW + (16 << 32), 3), None);
    }
}
