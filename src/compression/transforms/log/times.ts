const TIME = /^[[(]?\d[\d.:-]{0,40}:\d\d[\d.:]{0,40}[\])]?$|^\d{4}-\d\d-\d\d-\d\d\.\d\d\.[\d.]{1,40}$/;

/** Contains a date or a time of day in one of the forms that logs have. */
const CONTAINS_TIME = /\d{1,2}:\d\d|\d{1,4}[-/.](?:\d{1,2}|[A-Z][a-z]{2})[-/.]\d{2,4}|^\d{10}(?:\d{3})?$/;

/** A day of the week or a month, in full or short. */
const MONTH =
  /(?:^|[^\p{L}\p{N}])(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?$/iu;
const WEEKDAY =
  /(?:^|[^\p{L}\p{N}])(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\.?$/iu;
/** A day of the month, or a year. */
const FIGURE = /^(?:\d{1,2}(?:st|nd|rd|th|\.)?|\d{4})[\])]?$/;
const ZONE =
  /^\(?(?:[+-]\d\d:?\d\d|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|[A-Z][a-z]+(?:\/[A-Z][A-Za-z_-]+){1,2}|Z|[A-Z]{1,4}T|[AaPp]\.?[Mm]\.?)[\])]?$/;
/** Between the parts of a date: `Nov 10 at 10:00`, `Nov 10 10:00 - 11:00`. */
const JOINT = /^(?:at|@|-|–)$/;
/** A month beside a day, within a longer text. */
const SPELLED_DATE =
  /\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}\b|\b\d{1,2} +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/;

/** Contains a date or a time of day in one word, or a date in words if it is a text of several. */
function containsTime(word: string): boolean {
  return CONTAINS_TIME.test(word) || (word.includes(' ') && SPELLED_DATE.test(word));
}

/** What a word is: part of a date that is spelled in several words, another date or time, or neither. */
export type TimeKind = 'spelled' | 'plain' | undefined;

/** The dates and times among the words of a line: all of `Tue Nov 24 10:00:00 2026 +0200` is spelled. */
export function timesIn(words: readonly string[]): TimeKind[] {
  const kinds = words.map((word): TimeKind => (containsTime(word) ? 'plain' : undefined));
  const names = words.map((word) => MONTH.test(word) || WEEKDAY.test(word));
  const isPart = (i: number) => {
    const word = words[i];
    if (word === undefined) return false;
    return kinds[i] !== undefined || names[i] || FIGURE.test(word) || ZONE.test(word);
  };
  for (let start = 0; start < words.length; start++) {
    let end = start;
    while (isPart(end) || (end > start && JOINT.test(words[end] ?? '') && isPart(end + 1))) end++;
    // A name alone is a word or a person.
    if (end - start > 1 && names.slice(start, end).includes(true)) kinds.fill('spelled', start, end);
    // A zone, or the half of the day, belongs to the time before it.
    else if (end > start + 1)
      for (let i = start + 1; i < end; i++)
        if (kinds[i - 1] && ZONE.test(words[i] ?? '')) kinds[i] ??= 'plain';
    start = end;
  }
  return kinds;
}

const DATE = /^\d{4}-\d\d-\d\d$/;
/** The end of a date: month and day, or day. */
export const END_OF_DATE = /^-\d\d(?:-\d\d)?$/;

/** The end of a time or date that differs from the one before (`.821`, `:02.897`, `-07`), or the whole value. */
export function shortenTime(before: string, value: string): string {
  let at = 0;
  while (at < value.length && before[at] === value[at]) at++;
  if (DATE.test(value) && DATE.test(before)) return at < 5 ? value : value.slice(at < 8 ? 4 : 7);
  if (!TIME.test(value) || before.length !== value.length) return value;
  while (at > 0 && value[at] !== '.' && value[at] !== ':') at--;
  const rest = value.slice(at);
  return at > 2 && expandTime(before, rest) === value ? rest : value;
}

/** Undoes `shortenTime`. The times of a log have the same length, so the end is replaced. */
export function expandTime(before: string, rest: string): string {
  if (DATE.test(before) && END_OF_DATE.test(rest)) return before.slice(0, before.length - rest.length) + rest;
  const first = rest[0];
  if ((first !== '.' && first !== ':') || rest.length >= before.length) return rest;
  return before.slice(0, before.length - rest.length) + rest;
}
