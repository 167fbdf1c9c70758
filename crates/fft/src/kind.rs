//! Types of elements, and of transforms.
//!
//! Owns: the supported numbers of `cufftType` and `cudaDataType`. Sources: cufft.h, library_types.h. Must not know:
//! how transforms are computed.

/// A real number in the program's memory, or one part of a complex one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A half.
    F16,
    /// A bfloat16.
    Bf16,
    /// A single.
    F32,
    /// A double.
    F64,
}

impl Part {
    /// Bytes.
    pub fn size(self) -> u64 {
        match self {
            Part::F16 | Part::Bf16 => 2,
            Part::F32 => 4,
            Part::F64 => 8,
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Part::F16 => "f16",
            Part::Bf16 => "bf16",
            Part::F32 => "f32",
            Part::F64 => "f64",
        }
    }

    /// What is computed with.
    pub fn work(self) -> Work {
        if self == Part::F64 { Work::F64 } else { Work::F32 }
    }
}

/// What is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Singles.
    F32,
    /// Doubles.
    F64,
}

impl Work {
    /// Its name in PTX.
    pub fn word(self) -> &'static str {
        match self {
            Work::F32 => "f32",
            Work::F64 => "f64",
        }
    }

    /// Bytes of a complex number.
    pub fn size(self) -> u64 {
        match self {
            Work::F32 => 8,
            Work::F64 => 16,
        }
    }

    /// A constant in PTX.
    pub fn constant(self, value: f64) -> String {
        match self {
            Work::F32 => format!("0f{:08X}", (value as f32).to_bits()),
            Work::F64 => format!("0d{:016X}", value.to_bits()),
        }
    }
}

/// What a transform maps to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Map {
    /// Complex numbers to complex numbers.
    Complex,
    /// Real numbers to the half of their symmetric transform.
    FromReal,
    /// That half to real numbers.
    ToReal,
}

/// A type of transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Which sides are complex.
    pub map: Map,
    /// The elements of both sides.
    pub part: Part,
}

impl Kind {
    /// The type with this number in `cufftType`.
    pub fn of(number: i32) -> Option<Kind> {
        let (map, part) = match number {
            0x29 => (Map::Complex, Part::F32),
            0x2a => (Map::FromReal, Part::F32),
            0x2c => (Map::ToReal, Part::F32),
            0x69 => (Map::Complex, Part::F64),
            0x6a => (Map::FromReal, Part::F64),
            0x6c => (Map::ToReal, Part::F64),
            _ => return None,
        };
        Some(Kind { map, part })
    }

    /// The type whose input, output and execution have these numbers in `cudaDataType`. What is computed with is a complex type,
    /// or, from real numbers, their type (MLX 0.32 asks for that).
    pub fn of_data(input: i32, output: i32, execution: i32) -> Option<Kind> {
        let element = |number: i32| match number {
            0 => Some((Part::F32, false)),
            1 => Some((Part::F64, false)),
            2 => Some((Part::F16, false)),
            4 => Some((Part::F32, true)),
            5 => Some((Part::F64, true)),
            6 => Some((Part::F16, true)),
            14 => Some((Part::Bf16, false)),
            15 => Some((Part::Bf16, true)),
            _ => None,
        };
        let ((part, from), (other, to)) = (element(input)?, element(output)?);
        let map = match (from, to) {
            (true, true) => Map::Complex,
            (false, true) => Map::FromReal,
            (true, false) => Map::ToReal,
            (false, false) => return None,
        };
        let execution = element(execution)?;
        let known = execution.1 || map == Map::FromReal;
        let agrees = part == other && execution.0 == part && known;
        agrees.then_some(Kind { map, part })
    }

    /// Whether elements of the input, and of the output, are complex.
    pub fn complex(self) -> [bool; 2] {
        match self.map {
            Map::Complex => [true, true],
            Map::FromReal => [false, true],
            Map::ToReal => [true, false],
        }
    }

    /// Bytes of an element of the input, and of the output.
    pub fn sizes(self) -> [u64; 2] {
        self.complex().map(|complex| self.part.size() << u32::from(complex))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_name_a_type_agree() {
        let named = [
            (0x29, [4, 4, 4]),
            (0x2a, [0, 4, 4]),
            (0x2c, [4, 0, 4]),
            (0x69, [5, 5, 5]),
            (0x6a, [1, 5, 5]),
            (0x6c, [5, 1, 5]),
        ];
        for (number, [input, output, execution]) in named {
            let kind = Kind::of(number);
            assert!(kind.is_some());
            assert_eq!(Kind::of_data(input, output, execution), kind);
        }
        assert_eq!(Kind::of_data(0, 4, 0), Kind::of(0x2a), "from real numbers, in their type");
        // Two precisions, real to real, a real execution, and numbers that are no type.
        let wrong = [
            [4, 0, 0],
            [0, 4, 1],
            [4, 5, 4],
            [0, 0, 4],
            [4, 4, 0],
            [4, 4, 5],
            [3, 4, 4],
            [-1, 4, 4],
        ];
        for [input, output, execution] in wrong {
            assert_eq!(Kind::of_data(input, output, execution), None);
        }
        assert_eq!(Kind::of(0), None);
    }
}
