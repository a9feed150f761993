//! Columns that hold one of a few words, which are the same in JSON and in the database.

/// Defines the words of one column.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$word_doc])* #[serde(rename = $text)] $word,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$word),+];

            /// Returns the word used in JSON and in the database.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)+
                }
            }

            /// Returns the one that is called so.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;
