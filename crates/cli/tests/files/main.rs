//! What the command reads and writes: reports, views, and untrusted files.
#![allow(clippy::unwrap_used)]

mod manual;

mod checked;
mod device_images;
mod replay;
mod report;
mod told;
mod views;
