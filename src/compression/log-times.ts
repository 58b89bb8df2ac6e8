const TIME = /^[[(]?\d[\d.:-]*:\d\d[\d.:]*[\])]?$|^\d{4}-\d\d-\d\d-\d\d\.\d\d\.[\d.]+$/;

/** A time as what differs from the one before it (`.821`, `:02.897`); itself when that is no shorter. */
export function shortenTime(before: string, value: string): string {
  if (!TIME.test(value) || before.length !== value.length) return value;
  let at = 0;
  while (at < value.length && before[at] === value[at]) at++;
  while (at > 0 && value[at] !== '.' && value[at] !== ':') at--;
  const rest = value.slice(at);
  return at > 2 && expandTime(before, rest) === value ? rest : value;
}

/** Undoes `shortenTime`: times of one log have one length, so the end is replaced. */
export function expandTime(before: string, rest: string): string {
  const first = rest[0];
  if ((first !== '.' && first !== ':') || rest.length >= before.length) return rest;
  return before.slice(0, before.length - rest.length) + rest;
}
