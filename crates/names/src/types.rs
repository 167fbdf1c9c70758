//! Types of kernel parameters, as far as printing a value needs them.
//!
//! Owns: recognising a type in C++ syntax. Must not know: values.

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number.
    Number(Number),
    /// CUDA's vectors, such as `float4`, and `dim3`: the element and how many there are.
    Vector(Number, usize),
    /// A pointer or reference, also to a function.
    Pointer,
    /// `std::nullptr_t`.
    Null,
    /// Certainly a class: its name has template arguments.
    Class,
    /// A class or an enumeration: the symbol does not tell.
    Named,
}

/// The built-in types of C++ and CUDA. Sizes are those of x86-64 Linux, which device code shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `bool`.
    Bool,
    /// `char`.
    Char,
    /// A signed integer of so many bytes.
    Signed(usize),
    /// An unsigned integer of so many bytes.
    Unsigned(usize),
    /// `__half`.
    Half,
    /// `__nv_bfloat16`.
    Bfloat16,
    /// `float`.
    Float,
    /// `double`.
    Double,
}

impl Number {
    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Number::Bool | Number::Char => 1,
            Number::Signed(size) | Number::Unsigned(size) => size,
            Number::Half | Number::Bfloat16 => 2,
            Number::Float => 4,
            Number::Double => 8,
        }
    }

    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "bool" => Number::Bool,
            "char" => Number::Char,
            "signed char" => Number::Signed(1),
            "short" => Number::Signed(2),
            "int" | "wchar_t" => Number::Signed(4),
            "long" | "long long" => Number::Signed(8),
            "__int128" => Number::Signed(16),
            "unsigned char" | "char8_t" => Number::Unsigned(1),
            "unsigned short" | "char16_t" => Number::Unsigned(2),
            "unsigned int" | "char32_t" => Number::Unsigned(4),
            "unsigned long" | "unsigned long long" => Number::Unsigned(8),
            "unsigned __int128" => Number::Unsigned(16),
            "float" => Number::Float,
            "double" => Number::Double,
            // cuda_fp16.h and cuda_bf16.h; PyTorch's and CUTLASS's own hold the same bits.
            "__half" | "half" | "_Float16" | "c10::Half" | "cutlass::half_t" => Number::Half,
            "__nv_bfloat16" | "__bf16" | "std::bfloat16_t" | "c10::BFloat16" => Number::Bfloat16,
            "cutlass::bfloat16_t" => Number::Bfloat16,
            _ => return None,
        })
    }

    /// The elements of the vectors of vector_types.h.
    fn of_vector(text: &str) -> Option<Self> {
        Some(match text {
            "char" => Number::Signed(1),
            "uchar" => Number::Unsigned(1),
            "short" => Number::Signed(2),
            "ushort" => Number::Unsigned(2),
            "int" => Number::Signed(4),
            "uint" => Number::Unsigned(4),
            "long" | "longlong" => Number::Signed(8),
            "ulong" | "ulonglong" => Number::Unsigned(8),
            "float" => Number::Float,
            "double" => Number::Double,
            "__half" => Number::Half,
            "__nv_bfloat16" => Number::Bfloat16,
            _ => return None,
        })
    }
}

impl Type {
    /// The type that C++ writes as `text`.
    pub fn of(text: &str) -> Self {
        let text = without_qualifiers(text);
        if text.ends_with("::*") {
            // A pointer to a data member is an offset (Itanium C++ ABI, 2.3).
            return Type::Number(Number::Signed(8));
        }
        if text.ends_with(['*', '&']) || is_pointer_to_function_or_array(text) {
            return Type::Pointer;
        }
        if let Some(number) = Number::of(text) {
            return Type::Number(number);
        }
        match text {
            "std::nullptr_t" | "decltype(nullptr)" => return Type::Null,
            "dim3" => return Type::Vector(Number::Unsigned(4), 3),
            _ => {}
        }
        // `double4_16a`, `double4_32a`: CUDA 13 says the alignment.
        let name = text.strip_suffix("_16a").or_else(|| text.strip_suffix("_32a")).unwrap_or(text);
        let digit = name.bytes().last().filter(|b| (b'1'..=b'4').contains(b));
        if let Some(digit) = digit
            && let Some(number) = name.get(..name.len() - 1).and_then(Number::of_vector)
        {
            return Type::Vector(number, usize::from(digit - b'0'));
        }
        if text.ends_with('>') { Type::Class } else { Type::Named }
    }
}

fn without_qualifiers(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let before = text;
        for word in ["const", "volatile", "restrict", "__restrict__", "__restrict"] {
            if let Some(rest) = text.strip_suffix(word)
                && rest.ends_with([' ', '*', '&'])
            {
                text = rest.trim_end();
            }
            if let Some(rest) = text.strip_prefix(word)
                && rest.starts_with(' ')
            {
                text = rest.trim_start();
            }
        }
        if text == before {
            return text;
        }
    }
}

/// `void (*)(int)`, `int (&) [3]`, `void (* const)(int)`; not `void (A::*)(int)`, which has two words.
fn is_pointer_to_function_or_array(text: &str) -> bool {
    if !text.ends_with([')', ']']) {
        return false;
    }
    ["(*", "(&"].iter().any(|start| {
        text.match_indices(start).any(|(at, _)| {
            let inside = text.get(at + 1..).and_then(|rest| rest.split(')').next()).unwrap_or("");
            without_qualifiers(inside).trim_end_matches(['*', '&']).is_empty()
                && text.get(..at).is_some_and(|before| {
                    before.matches('<').count() == before.matches('>').count()
                })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_as_cxx_writes_them() {
        for pointer in [
            "float*",
            "float const*",
            "float const* const",
            "float const*restrict",
            "int&",
            "int&&",
            "void (*)(int, float*)",
            "int (*) [3]",
            "char const (&) [4]",
            "void (* const)(int)",
            "Box<int>*",
            "std::function<void (int)> const&",
        ] {
            assert_eq!(Type::of(pointer), Type::Pointer, "{pointer}");
        }
        assert_eq!(Type::of("int const"), Type::Number(Number::Signed(4)));
        assert_eq!(Type::of("unsigned long"), Type::Number(Number::Unsigned(8)));
        assert_eq!(Type::of("int Pod::*"), Type::Number(Number::Signed(8)));
        assert_eq!(Type::of("void (Pod::*)(int)"), Type::Named);
        assert_eq!(Type::of("float4"), Type::Vector(Number::Float, 4));
        assert_eq!(Type::of("ulonglong2"), Type::Vector(Number::Unsigned(8), 2));
        assert_eq!(Type::of("double4_32a"), Type::Vector(Number::Double, 4));
        assert_eq!(Type::of("__half2"), Type::Vector(Number::Half, 2));
        assert_eq!(Type::of("dim3"), Type::Vector(Number::Unsigned(4), 3));
        assert_eq!(Type::of("decltype(nullptr)"), Type::Null);
        assert_eq!(Type::of("Box<void (*)(int)>"), Type::Class);
        assert_eq!(Type::of("Box<int>::E"), Type::Named);
        assert_eq!(Type::of("my_const"), Type::Named);
        assert_eq!(Type::of("4"), Type::Named);
        assert_eq!(Type::of(""), Type::Named);
    }
}
