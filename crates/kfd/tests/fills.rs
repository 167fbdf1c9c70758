//! Fills by an SDMA engine: every length, and no byte beside the range.

use cushim_amdgpu::memory::{Checked, Memory, Range};
use cushim_kfd::queue::sdma::{Command, perform};

struct One(Range);

// SAFETY: the range belongs to an array that lives as long as the machine.
unsafe impl Memory for One {
    fn find(&self, address: u64) -> Option<Range> {
        Some(self.0).filter(|range| range.start <= address && address < range.end)
    }

    fn interrupt(&self, _: u32) {}
}

#[test]
fn a_fill_stores_its_bytes_and_no_others() {
    for count in 1..=50 {
        let mut words = [0u32; 64];
        let start = words.as_mut_ptr() as u64;
        let machine = One(Range { start, end: start + 256, write: true });
        let fill = Command::Fill { to: start + 16, value: 0x1234_5678, bytes: 4 * count };
        assert_eq!(perform(&mut Checked::new(&machine), &fill), Ok(true));
        for (at, word) in words.iter().enumerate() {
            let inside = (4..4 + count as usize).contains(&at);
            assert_eq!(*word, if inside { 0x1234_5678 } else { 0 }, "word {at} of {count}");
        }
    }
}
