//! The API functions on user objects.
//!
//! Source: CUDA Driver API, `cuUserObjectCreate`, `cuGraphRetainUserObject`. Must not know: when an object is
//! destroyed ([`super::object`]).

use std::sync::{Arc, Mutex};

use cushim_abi::types::*;

use super::graph;
use super::object::{Held, OBJECTS, Object, by_handle};
use crate::entry::entry;
use crate::host::Function;
use crate::state::{check, give};
use crate::status;
use cushim_accel::locks::lock;

fn some(count: u32) -> Result<u64, i32> {
    match count {
        1..=0x7fff_ffff => Ok(count.into()),
        _ => Err(status::INVALID_VALUE),
    }
}

entry! {
    fn cuUserObjectCreate (object_out: Out<Ptr>, ptr: Ptr, destroy: Ptr, initialRefcount: u32, flags: Flags) {
        check()?;
        // Any number is accepted here (measured).
        let count = u64::from(initialRefcount);
        if count == 0 {
            return Err(status::INVALID_VALUE);
        }
        // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC must be given.
        if object_out.is_null() || destroy.0 == 0 || flags.0 != 1 {
            return Err(status::INVALID_VALUE);
        }
        let destroy = Function { function: destroy.0, data: ptr.0 };
        let object = Object { destroy, count: Mutex::new(count) };
        give(object_out, Ptr(OBJECTS.add(Arc::new(object))))
    }

    fn cuUserObjectRetain (object: Ptr, count: u32) {
        by_handle(object)?.add(some(count)?);
        Ok(())
    }

    fn cuUserObjectRelease (object: Ptr, count: u32) {
        by_handle(object)?.release(some(count)?)
    }

    fn cuGraphRetainUserObject (graph: Graph, object: Ptr, count: u32, flags: Flags) {
        let graph = self::graph(graph)?;
        let (object, count) = (by_handle(object)?, some(count)?);
        // CU_GRAPH_USER_OBJECT_MOVE: the caller's references become the graph's.
        match flags.0 {
            0 => object.add(count),
            1 if *lock(&object.count) >= count => {}
            _ => return Err(status::INVALID_VALUE),
        }
        graph.with_objects(|held| held.push(Held { object, count }));
        Ok(())
    }

    fn cuGraphReleaseUserObject (graph: Graph, object: Ptr, count: u32) {
        let graph = self::graph(graph)?;
        let (object, mut count) = (by_handle(object)?, some(count)?);
        let gone = graph.with_objects(|held| {
            let own = |held: &&mut Held| Arc::ptr_eq(&held.object, &object);
            let all: u64 = held.iter_mut().filter(own).map(|held| held.count).sum();
            if all < count {
                return Err(status::INVALID_VALUE);
            }
            let mut gone = 0;
            for held in held.iter_mut().filter(own) {
                let some = held.count.min(count);
                held.count -= some;
                count -= some;
                gone += some;
            }
            held.retain(|held| held.count > 0);
            Ok(gone)
        })?;
        object.release(gone)
    }
}
