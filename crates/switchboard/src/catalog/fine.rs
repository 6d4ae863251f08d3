//! Whether a schema is fine as it is: told while reading past it, without taking it apart. Most are, and a start with
//! thousands of tools looks at each.
//!
//! It must not say yes to what [`super::check`] would change or refuse. No is not the last word: whoever hears it looks closer.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::check::{DEEPEST, MOST_SCHEMAS};

/// Whether models take the schema, and nothing of it has to be written otherwise.
pub(super) fn is_fine(schema: &str) -> bool {
    let mut left = MOST_SCHEMAS;
    let mut reader = serde_json::Deserializer::from_str(schema);
    let part = Part { want: Want::Whole, depth: 0, left: &mut left };
    part.deserialize(&mut reader).is_ok() && reader.end().is_ok()
}

/// What a part of the schema has to be.
#[derive(Debug, Clone, Copy)]
enum Want {
    /// The schema itself: of an object, with fields.
    Whole,
    /// The word `object`.
    Object,
    /// Names with a schema each.
    Fields,
    Schema,
    /// A list of names.
    Names,
    Name,
    Anything,
}

/// A part of the schema: what it has to be, how deep it is, and how many more there may be.
struct Part<'a> {
    want: Want,
    depth: usize,
    left: &'a mut usize,
}

impl Part<'_> {
    fn fits<E: Error>(fits: bool) -> Result<(), E> {
        if fits { Ok(()) } else { Err(E::custom("has to be looked at closer")) }
    }

    /// A part of this one.
    fn part<E: Error>(&mut self, want: Want) -> Result<Part<'_>, E> {
        Self::fits(*self.left > 0 && self.depth < DEEPEST)?;
        *self.left -= 1;
        Ok(Part { want, depth: self.depth + 1, left: self.left })
    }

    /// A key, which is none of the parts.
    fn key(&mut self) -> Part<'_> {
        Part { want: Want::Name, depth: self.depth, left: self.left }
    }

    fn whole<'de, A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let (mut n_types, mut n_fields, mut n_required) = (0, 0, 0);
        while let Some(key) = fields.next_key::<String>()? {
            let want = match key.as_str() {
                "type" => {
                    n_types += 1;
                    Want::Object
                }
                "properties" => {
                    n_fields += 1;
                    Want::Fields
                }
                "required" => {
                    n_required += 1;
                    Want::Names
                }
                _ => Want::Anything,
            };
            fields.next_value_seed(self.part(want)?)?;
        }
        // Of a key that comes twice only one counts, and this is not the place to say which.
        Self::fits(n_types == 1 && n_fields == 1 && n_required <= 1)
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a schema")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Self::fits(matches!(self.want, Want::Anything))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Self::fits(matches!(self.want, Want::Anything | Want::Schema))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Self::fits(matches!(self.want, Want::Anything))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Self::fits(matches!(self.want, Want::Anything))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Self::fits(matches!(self.want, Want::Anything))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        Self::fits(match self.want {
            Want::Anything | Want::Name => true,
            Want::Object => text == "object",
            _ => false,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let want = match self.want {
            Want::Names => Want::Name,
            Want::Anything => Want::Anything,
            _ => return Self::fits(false),
        };
        // What there is room for is only known after there is a next one.
        loop {
            let left = *self.left;
            let Ok(part) = self.part::<A::Error>(want) else {
                return Self::fits(items.next_element::<serde::de::IgnoredAny>()?.is_none());
            };
            if items.next_element_seed(part)?.is_none() {
                *self.left = left;
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let want = match self.want {
            Want::Whole => return self.whole(fields),
            Want::Fields => Want::Schema,
            Want::Schema | Want::Anything => Want::Anything,
            _ => return Self::fits(false),
        };
        while fields.next_key_seed(self.key())?.is_some() {
            fields.next_value_seed(self.part(want)?)?;
        }
        Ok(())
    }
}
