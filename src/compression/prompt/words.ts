const STOP = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by ' +
    'can could did do does doing down during each few for from further give had has have having he her here hers him his ' +
    'how i if in into is it its itself just let me more most my no nor not now of off on once only or other our out over ' +
    'own please same she should show so some such tell than that the their them then there these they this those through ' +
    'to too under until up us very was we were what when where which while who whom whose why will with would you your'
  ).split(' '),
);

const WORD = /[\p{L}\p{N}]+/gu;

/** Stems of a text's content words, in order. Share one `memo` between texts for speed. */
export function contentStems(text: string, memo = new Map<string, string>()): string[] {
  const stems: string[] = [];
  for (const word of plain(text).match(WORD) ?? []) {
    if (STOP.has(word)) continue;
    let stemmed = memo.get(word);
    if (stemmed === undefined) {
      stemmed = stem(word);
      memo.set(word, stemmed);
    }
    stems.push(stemmed);
  }
  return stems;
}

/** Lower case without accents: `Santería` matches `santeria`. */
function plain(text: string): string {
  const lower = text.toLowerCase();
  return /[\u00c0-\u024f]/.test(lower) ? lower.normalize('NFD').replace(/\p{M}/gu, '') : lower;
}

/** Strips common English endings: `cities`, `city` -> `citi`; `writes`, `writing` -> `writ`. */
function stem(word: string): string {
  if (word.length < 4 || /[^a-z]/.test(word)) return word;
  const base = word
    .replace(/(?:sses)$/, 'ss')
    .replace(/ies$/, 'i')
    .replace(/([^su])s$/, '$1');
  const short = base.replace(/(?:ational|ations?|ingly|edly|ing|ed|er|ers|est|ly|ment|ness)$/, '');
  const stem = short.length >= 3 && /[aeiouy]/.test(short) ? short : base;
  return stem
    .replace(/(?<=..)(?:e|y)$/, (ending) => (ending === 'y' ? 'i' : ''))
    .replace(/([^aeiouls])\1$/, '$1');
}

/** A text's words in lower case, function words included. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? [];
}
