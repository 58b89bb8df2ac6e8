/** Characters, escapes and classes; groups and lookaheads; the signs between them; quantifiers. */
const TOKEN =
  /\\[dDwWsSbB^$\\.*+?()[\]{}|/-]|\[(?:[^\\\]]|\\.)+\]|\(\?[:!=]|[()|^$.*+?]|\{\d{1,2}\}|[^\\[\](){}|^$.*+?]/y;
const UNBOUNDED = /^[*+]$/;
const CHOICE = /^[?|]$/;
/** Tokens that no quantifier may follow, quantifiers included. */
const UNREPEATABLE = /^[(|^$*+?{]/;
const MAX_CHOICES = 12;

/**
 * Whether an expression provably needs no more than linear time for any text. That holds where groups are not repeated,
 * the choices multiply to a constant, and a repetition without a limit occurs at most once, behind `^`: then one position
 * is tried as its end after the other, and what follows has a fixed length.
 */
export function isLinear(source: string): boolean {
  let choices = 0;
  let unbounded = 0;
  let depth = 0;
  let isSplit = false;
  let last = '';
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const token = TOKEN.exec(source)?.[0];
    if (token === undefined) return false;
    const isQuantifier =
      UNBOUNDED.test(token) || token === '?' || (token.length > 1 && token.startsWith('{'));
    if (isQuantifier && (last === '' || UNREPEATABLE.test(last))) return false;
    if (isQuantifier && last === ')' && token !== '?') return false;
    if (token.startsWith('(')) depth++;
    if (token === ')') depth--;
    if (token === '|' && depth === 0) isSplit = true;
    if (CHOICE.test(token)) choices++;
    if (UNBOUNDED.test(token)) unbounded++;
    last = token;
  }
  const isAnchored = source.startsWith('^') && !isSplit;
  return choices <= MAX_CHOICES && unbounded <= (isAnchored ? 1 : 0);
}
