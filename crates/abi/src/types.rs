//! CUDA's argument types as calls pass them: transparent integers and plain structs.
//!
//! Enums and flags are integers, so a value of a later version is data and not undefined behaviour. The [`Shape`]
//! says how to print a value.
//! Source: CUDA Runtime API and Driver API reference manuals, 11.8 to 13.0.

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {
        /// How to interpret a recorded argument; trace files have its word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Shape { $($(#[$doc])* $name,)* }

        impl Shape {
            /// Its word.
            pub const fn word(self) -> &'static str {
                match self { $(Shape::$name => $word,)* }
            }
        }
    };
}

shapes! {
    /// A number of bytes or of elements.
    Size "size";
    /// A number of 64 bits.
    Wide "u64";
    /// A number that is not negative.
    Unsigned "uint";
    /// A number.
    Signed "int";
    /// Bits without a meaning here.
    Value "value";
    /// An address, or a handle that is not resolved.
    Pointer "ptr";
    /// The address of a NUL-terminated string.
    Text "str";
    /// Bits.
    Flags "flags";
    /// A stream handle.
    Stream "stream";
    /// An event handle.
    Event "event";
    /// A graph handle.
    Graph "graph";
    /// An executable graph's handle.
    GraphExec "graphexec";
    /// A graph node's handle.
    Node "node";
    /// Something that can be launched.
    Kernel "func";
    /// `cudaMemcpyKind`.
    CopyKind "memcpykind";
    /// A device ordinal.
    Device "device";
    /// One number of several: a shape.
    Dimension "dim";
}

/// An argument that can be recorded as 64-bit words.
pub trait Arg: Copy {
    /// How many words it takes.
    const WORDS: usize = 1;
    /// How to interpret each word.
    const SHAPE: Shape;
    /// Whether it points to a value that a successful call writes.
    const OUT: bool = false;
    /// Stores the words. `to` has room for [`Arg::WORDS`].
    fn words(self, to: &mut [u64]);
    /// The value that a successful call wrote, for a non-null out pointer.
    ///
    /// # Safety
    /// The call with this argument has returned success.
    unsafe fn written(self) -> Option<u64> {
        None
    }
}

macro_rules! integers {
    ($($type:ty = $shape:ident as $via:ty;)*) => {$(
        impl Arg for $type {
            const SHAPE: Shape = Shape::$shape;
            #[inline(always)]
            fn words(self, to: &mut [u64]) {
                if let Some(to) = to.first_mut() {
                    *to = self as $via as u64;
                }
            }
        }
    )*};
}

integers! {
    usize = Size as usize;
    u64 = Wide as u64;
    u32 = Unsigned as u32;
    i32 = Signed as i64;
    u16 = Unsigned as u16;
    u8 = Unsigned as u8;
}

impl Arg for f32 {
    const SHAPE: Shape = Shape::Value;
    #[inline(always)]
    fn words(self, to: &mut [u64]) {
        if let Some(to) = to.first_mut() {
            *to = u64::from(self.to_bits());
        }
    }
}

/// A number of 32 bits that some releases declare with 64: passed on with all its bits, recorded with 32.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow(pub u64);

impl Arg for Narrow {
    const SHAPE: Shape = Shape::Signed;
    #[inline(always)]
    fn words(self, to: &mut [u64]) {
        if let Some(to) = to.first_mut() {
            *to = i64::from(self.0 as i32) as u64;
        }
    }
}

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident($inner:ty) = $shape:ident;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub $inner);
        impl Arg for $name {
            const SHAPE: Shape = Shape::$shape;
            #[inline(always)]
            fn words(self, to: &mut [u64]) {
                if let Some(to) = to.first_mut() {
                    *to = self.0 as u64;
                }
            }
        }
    )*};
}

opaque! {
    /// An address, host or device; also `CUdeviceptr`.
    Ptr(usize) = Pointer;
    /// A NUL-terminated string's address.
    Str(usize) = Text;
    /// Flag bits, 32.
    Flags(u32) = Flags;
    /// Flag bits, 64.
    Flags64(u64) = Flags;
    /// A stream handle; 0 legacy default or per-thread, 1 legacy, 2 per-thread.
    Stream(usize) = Stream;
    /// An event handle.
    Event(usize) = Event;
    /// A graph handle.
    Graph(usize) = Graph;
    /// An executable graph's handle.
    GraphExec(usize) = GraphExec;
    /// A graph node's handle.
    Node(usize) = Node;
    /// Something that can be launched: host stub, `cudaKernel_t`, `CUkernel`, `CUfunction`.
    Func(usize) = Kernel;
    /// `cudaMemcpyKind`.
    CopyKind(i32) = CopyKind;
    /// A device ordinal.
    Device(i32) = Device;
    /// A device ordinal of libomptarget's; -1 is the default device.
    Device64(i64) = Device;
    /// A context handle.
    Context(usize) = Pointer;
    /// A module or library handle.
    Module(usize) = Pointer;
    /// `cudaMemLocation` / `CUmemLocation` by value: type in the low half, id in the high half.
    Location(u64) = Value;
}

/// A pointer to one value that a successful call writes.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(pub *mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T: Arg> Arg for Out<T> {
    const SHAPE: Shape = T::SHAPE;
    const OUT: bool = true;
    #[inline(always)]
    fn words(self, to: &mut [u64]) {
        if let Some(to) = to.first_mut() {
            *to = self.0 as u64;
        }
    }
    #[inline(always)]
    unsafe fn written(self) -> Option<u64> {
        if self.0.is_null() {
            return None;
        }
        let mut word = [0];
        // SAFETY: CUDA wrote a value of this type there and returned success; it need not be aligned.
        unsafe { self.0.read_unaligned() }.words(&mut word);
        Some(word[0])
    }
}

macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $shape:ident),* } $words:literal;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(#[allow(missing_docs)] pub $field: $type,)*
        }
        impl Arg for $name {
            const WORDS: usize = $words;
            const SHAPE: Shape = Shape::Dimension;
            #[inline(always)]
            fn words(self, to: &mut [u64]) {
                for (to, from) in to.iter_mut().zip([$(self.$field as u64),*]) {
                    *to = from;
                }
            }
        }
    )*};
}

structs! {
    /// `dim3`: grid and block shapes.
    Dim3 { x: u32 = Dimension, y: u32 = Dimension, z: u32 = Dimension } 3;
    /// `cudaExtent`: width in bytes or elements, height, depth.
    Extent { width: usize = Size, height: usize = Size, depth: usize = Size } 3;
    /// `cudaPitchedPtr`: address, pitch and logical width in bytes, height.
    PitchedPtr { ptr: usize = Pointer, pitch: usize = Size, xsize: usize = Size, ysize: usize = Size } 4;
}

/// Structures by value that are passed on and never read.
macro_rules! opaque_structs {
    ($($(#[$doc:meta])* $name:ident [$word:ty; $count:literal] $words:literal;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub [$word; $count]);
        impl Arg for $name {
            const WORDS: usize = $words;
            const SHAPE: Shape = Shape::Value;
            /// These are not recorded.
            fn words(self, to: &mut [u64]) {
                to.fill(0);
            }
        }
    )*};
}

opaque_structs! {
    /// `cudaIpcMemHandle_t`, `cudaIpcEventHandle_t`, `CUipc*Handle`: 64 bytes.
    IpcHandle [u8; 64] 8;
    /// `cudaEglFrame`: 280 bytes.
    EglFrame [u64; 35] 35;
    /// `CUeglFrame`: 64 bytes.
    DriverEglFrame [u64; 8] 8;
}

/// `cudaChannelFormatDesc`: bits of each component, kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ChannelDesc {
    pub x: i32,
    pub y: i32,
    pub z: i32,
    pub w: i32,
    pub f: i32,
}

/// A result code, `cudaError_t` or `CUresult`.
pub type Status = i32;

/// What a hook returns where no real function is found behind it:
/// `cudaErrorSharedObjectSymbolNotFound`, `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`.
pub const SYMBOL_NOT_FOUND: Status = 302;
/// `cudaErrorNotReady`, `CUDA_ERROR_NOT_READY`: a normal result, not a failure.
pub const NOT_READY: Status = 600;
/// `cudaErrorCudartUnloading`, `CUDA_ERROR_DEINITIALIZED`.
pub const DEINITIALIZED: Status = 4;
