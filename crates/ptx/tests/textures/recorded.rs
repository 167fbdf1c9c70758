//! The file of recorded texels.
//!
//! Decompressed (zlib) it is: a line of text about the recording, `\n`, then blocks. Numbers are little-endian words.
//! A block: its kind (0 texels, 1 results), the length of its name, the name; for texels the number of bytes and the bytes;
//! for results the words of a place, the words of a result, the number of results, and all places and results, word by
//! word.

/// Results of one texture at many places.
pub struct Record {
    pub name: String,
    words: [usize; 2],
    places: Vec<u32>,
    results: Vec<u32>,
}

impl Record {
    /// Places and their results.
    pub fn samples(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        let [place, result] = self.words;
        self.places.chunks_exact(place).zip(self.results.chunks_exact(result))
    }
}

/// The whole recording.
pub struct Recorded {
    pub records: Vec<Record>,
    texels: Vec<(String, Vec<u8>)>,
}

impl Recorded {
    /// Texels by name.
    pub fn texels(&self, name: &str) -> Vec<u8> {
        let found = self.texels.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no texels are called {name}")).1.clone()
    }
}

fn inflated() -> Vec<u8> {
    use std::io::Read;
    let mut all = Vec::new();
    let file = &include_bytes!("recorded.bin")[..];
    flate2::read::ZlibDecoder::new(file).read_to_end(&mut all).unwrap();
    all
}

/// Reads the file.
pub fn read() -> Recorded {
    let all = inflated();
    let start = all.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut rest = &all[start..];
    let mut take = |bytes: usize| {
        let (now, later) = rest.split_at(bytes);
        rest = later;
        (now, later.is_empty())
    };
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let mut out = Recorded { records: Vec::new(), texels: Vec::new() };
    loop {
        let kind = word(take(4).0);
        let length = word(take(4).0) as usize;
        let name = String::from_utf8(take(length).0.to_vec()).unwrap();
        let end = if kind == 0 {
            let count = word(take(4).0) as usize;
            let (bytes, end) = take(count);
            out.texels.push((name, bytes.to_vec()));
            end
        } else {
            let words = [word(take(4).0) as usize, word(take(4).0) as usize];
            let count = word(take(4).0) as usize;
            let mut list = |n: usize| {
                let (bytes, end) = take(4 * n * count);
                (bytes.chunks_exact(4).map(word).collect::<Vec<u32>>(), end)
            };
            let (places, _) = list(words[0]);
            let (results, end) = list(words[1]);
            out.records.push(Record { name, words, places, results });
            end
        };
        if end {
            return out;
        }
    }
}
