//! Character references: the numbered ones, and those names that pages use.

/// Longest reference between `&` and `;`, in bytes.
const REFERENCE_BYTES_MAX: usize = 10;

const NAMES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("sbquo", '‚'),
    ("bdquo", '„'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("sect", '§'),
    ("para", '¶'),
    ("deg", '°'),
    ("plusmn", '±'),
    ("times", '×'),
    ("divide", '÷'),
    ("frac12", '½'),
    ("frac14", '¼'),
    ("sup2", '²'),
    ("sup3", '³'),
    ("micro", 'µ'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("cent", '¢'),
    ("larr", '←'),
    ("rarr", '→'),
    ("uarr", '↑'),
    ("darr", '↓'),
    ("infin", '∞'),
    ("ne", '≠'),
    ("le", '≤'),
    ("ge", '≥'),
    ("agrave", 'à'),
    ("aacute", 'á'),
    ("acirc", 'â'),
    ("atilde", 'ã'),
    ("auml", 'ä'),
    ("aring", 'å'),
    ("aelig", 'æ'),
    ("ccedil", 'ç'),
    ("egrave", 'è'),
    ("eacute", 'é'),
    ("ecirc", 'ê'),
    ("euml", 'ë'),
    ("igrave", 'ì'),
    ("iacute", 'í'),
    ("icirc", 'î'),
    ("iuml", 'ï'),
    ("ntilde", 'ñ'),
    ("ograve", 'ò'),
    ("oacute", 'ó'),
    ("ocirc", 'ô'),
    ("otilde", 'õ'),
    ("ouml", 'ö'),
    ("oslash", 'ø'),
    ("ugrave", 'ù'),
    ("uacute", 'ú'),
    ("ucirc", 'û'),
    ("uuml", 'ü'),
    ("szlig", 'ß'),
    ("Agrave", 'À'),
    ("Aacute", 'Á'),
    ("Auml", 'Ä'),
    ("Aring", 'Å'),
    ("AElig", 'Æ'),
    ("Ccedil", 'Ç'),
    ("Egrave", 'È'),
    ("Eacute", 'É'),
    ("Ntilde", 'Ñ'),
    ("Ouml", 'Ö'),
    ("Oslash", 'Ø'),
    ("Uuml", 'Ü'),
    ("oelig", 'œ'),
    ("OElig", 'Œ'),
    ("shy", '\u{ad}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("ensp", '\u{2002}'),
    ("emsp", '\u{2003}'),
    ("thinsp", '\u{2009}'),
];

/// Adds text with its references decoded; what is none stays as it is.
pub(super) fn push_decoded(into: &mut String, text: &str) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        into.push_str(before);
        match reference(after) {
            Some((character, length)) => {
                into.push(character);
                rest = after.get(length..).unwrap_or_default();
            }
            None => {
                into.push('&');
                rest = after;
            }
        }
    }
    into.push_str(rest);
}

/// Returns the character that the text after `&` stands for, and how long the reference is.
fn reference(after: &str) -> Option<(char, usize)> {
    let bytes = after.as_bytes();
    let end = bytes.iter().take(REFERENCE_BYTES_MAX).position(|byte| *byte == b';')?;
    let name = after.get(..end)?;
    let character = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|character| *character != '\0').unwrap_or('\u{fffd}')
        }
        None => NAMES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((character, end + 1))
}
