const TIME = /^[[(]?\d[\d.:-]{0,40}:\d\d[\d.:]{0,40}[\])]?$|^\d{4}-\d\d-\d\d-\d\d\.\d\d\.[\d.]{1,40}$/;

/** Contains a date or a time of day in one of the forms that logs have. */
const CONTAINS_TIME = /\d{1,2}:\d\d|\d{1,4}[-/.](?:\d{1,2}|[A-Z][a-z]{2})[-/.]\d{2,4}|^\d{10}(?:\d{3})?$/;

export function containsTime(word: string): boolean {
  return CONTAINS_TIME.test(word);
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
