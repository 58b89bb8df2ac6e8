/** The user's question, as far as keywords reveal it. */
export interface Question {
  text: string;
  /** Stems of its content words. */
  stems: ReadonlySet<string>;
  /** Ids, paths, quoted phrases and other strings to match literally, in lower case. */
  exact: readonly string[];
  /** The answer should be JSON, so JSON must not change. */
  wantsJson: boolean;
  /** The answer should be a pasted file, so every line of it counts. */
  wantsFile: boolean;
}

/** Longer text is material rather than a question; only its two ends are read. */
const MAX_QUESTION = 3000;

const OTHERS =
  /\b(?:total|sum|average|mean|median|all|every|each|compare[ds]?|rank(?:ed|ing)?|percent(?:age)?|share|highest|lowest|largest|smallest|biggest|most|least|than|others?|rest|similar|duplicates?|between|range|trend|unique|distinct|cheapest|strongest|oldest|newest|latest|earliest|peak|summar(?:y|ise|ize))\b/i;
const ASKS =
  /(?:^|(?<=[.!:\n])\s{0,9})(?:(?:in|on|at|by) )?(?:please )?(?:show|find|trace|give|tell|get|look up|which|what|who|whose|when|where|how (?:big|large|long|old|much)|is|are|does|did|was|were)\b/i;
const TASK =
  /\b(?:fix|implement|refactor|improve|add|change|rename|update|write|create|build|edit|remove|delete|migrate|port|optimi[sz]e|solve|debug|make|rewrite|extend|install|set up|clean up|resolve|continue)\b/i;
const JSON_BACK =
  /\b(?:return|repeat|reproduce|output|print|give|rewrite|convert|transform|translate|format|reformat|validate|valid|fix|correct|edit|change|update|modify|minify|prettify|indent|sort(?:ed)?|unchanged|exactly)\b[^.?!\n]{0,80}\bjson\b|\bjson\b[^.?!\n]{0,80}\b(?:exactly|unchanged|otherwise|sorted|reformatted|valid|as (?:it )?is)\b/i;
const FILE_BACK =
  /\b(?:complete|whole|entire|full|updated|modified|changed|edited|corrected|same) (?:[\w.-]+ )?(?:files?|documents?|config\w*|manifest|yaml|json|xml|toml|ini|html|csv|table|text|list|log)\b|\b(?:otherwise|rest|everything else)\b[^.?!\n]{0,20}\bunchanged\b/i;
const QUOTED = /"([^"\n]{3,200})"|`([^`\n]{3,200})`|“([^”\n]{3,200})”/g;
const WORD = /[^\s,;?!"'`()<>{}“”]+/g;

/** Reads the user's own words; undefined if there are none. */
export function readQuestion(words: string): Question | undefined {
  const text = words.length <= MAX_QUESTION ? words : `${words.slice(0, 1500)}\n${words.slice(-1500)}`;
  if (text.trim() === '') return undefined;
  return {
    text,
    stems: new Set(contentStems(text)),
    exact: exactStrings(text),
    wantsJson: JSON_BACK.test(text),
    wantsFile: FILE_BACK.test(text),
  };
}

/** Whether a text contains one of the exact strings of the question. */
export function mentions(question: Question | undefined, text: string): boolean {
  if (!question || question.exact.length === 0) return false;
  const lower = text.toLowerCase();
  return question.exact.some((exact) => lower.includes(exact));
}

function exactStrings(text: string): string[] {
  const strings = new Set<string>();
  for (const [, a, b, c] of text.matchAll(QUOTED)) strings.add((a ?? b ?? c ?? '').toLowerCase());
  for (const [word] of text.matchAll(WORD)) {
    const bare = word.replace(/^[[.:*]+|(?<![\].:*])[\].:*]+$/g, '');
    if (isId(bare)) strings.add(bare.toLowerCase());
  }
  return [...strings].slice(0, 200);
}

/** A word unlike prose: with digits, inner punctuation or inner capitals. */
function isId(word: string): boolean {
  if (word.length < 2 || /^\d{1,2}$/.test(word)) return false;
  return (
    /\d/.test(word) ||
    /[\w\])][/._:#@=-][\w(]/.test(word) ||
    /[a-z][A-Z]/.test(word) ||
    /^[#@$/.]\w/.test(word)
  );
}

/** A cached `namesKey`: a document has few keys and repeats them often. */
export function keysNamedBy(question: Question | undefined): (key: string) => boolean {
  const cache = new Map<string, boolean>();
  return (key) => {
    let isNamed = cache.get(key);
    if (isNamed === undefined) {
      isNamed = namesKey(question, key);
      cache.set(key, isNamed);
    }
    return isNamed;
  };
}

/** Whether the question contains every word of a JSON key (passed with its quotes). */
export function namesKey(question: Question | undefined, key: string): boolean {
  if (!question) return false;
  const stems = contentStems(key.replace(/_|(?<=[a-z])(?=[A-Z])/g, ' '));
  return stems.length > 0 && stems.every((stem) => question.stems.has(stem));
}

/** Whether the question needs more rows or lines than it names: totals, extremes, comparisons. */
export const needsOthers = (question: Question): boolean => OTHERS.test(withoutQuotes(question.text));

/** Whether the user gives a task rather than a question. Then the text may be edited next. */
export const isTask = (question: Question): boolean => TASK.test(withoutQuotes(question.text));

/** A quoted phrase is a name, whatever words it contains. */
const withoutQuotes = (text: string): string => text.replace(QUOTED, '"…"');

/** Whether the question only asks about things that it names. */
export function isLookup(question: Question): boolean {
  const { text } = question;
  return (
    question.exact.length > 0 &&
    text.length < 1500 &&
    ASKS.test(text) &&
    !needsOthers(question) &&
    !isTask(question)
  );
}

const STOP = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by ' +
    'can could did do does doing down during each few for from further give had has have having he her here hers him his ' +
    'how i if in into is it its itself just let me more most my no nor not now of off on once only or other our out over ' +
    'own please same she should show so some such tell than that the their them then there these they this those through ' +
    'to too under until up us very was we were what when where which while who whom whose why will with would you your'
  ).split(' '),
);

const ALPHANUMERIC = /[\p{L}\p{N}]+/gu;

/** Stems of a text's content words, in order. Share one `memo` between texts for speed. */
export function contentStems(text: string, memo = new Map<string, string>()): string[] {
  const stems: string[] = [];
  for (const word of plain(text).match(ALPHANUMERIC) ?? []) {
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
export const wordsOf = (text: string): string[] => text.toLowerCase().match(ALPHANUMERIC) ?? [];
