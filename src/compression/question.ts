import { contentStems } from './words.ts';

/** What the user wants to know, as far as it can be told from words alone. */
export interface Question {
  text: string;
  /** Stems of its content words. */
  stems: ReadonlySet<string>;
  /** Ids, paths, quoted phrases and other strings that must be found as they are, lower case. */
  exact: readonly string[];
  /** It asks for totals, extremes, a list of all: then every row counts. */
  wantsAll: boolean;
  /** It wants JSON back, so that JSON must stay as it is. */
  wantsJson: boolean;
}

/** More than this much of a message's own words is not a question but material; its ends are read. */
const MAX_QUESTION = 3000;

const ALL =
  /\b(?:all|every|each|any|total|sum|average|mean|median|count|how many|number of|list|which|most|least|highest|lowest|largest|smallest|biggest|strongest|weakest|longest|shortest|fastest|slowest|oldest|newest|latest|earliest|first|last|max(?:imum)?|min(?:imum)?|peak(?:ed)?|top|rank|sort|order by|group|compare|trend|distribution|outliers?|anomal(?:y|ies)|summar(?:y|ise|ize)|overview|duplicates?|unique|distinct|between|more than|less than|at least|changed?|differ(?:s|ence)?)\b/i;
const JSON_BACK =
  /\b(?:return|repeat|reproduce|output|print|give|rewrite|convert|transform|translate|format|reformat|validate|valid|fix|correct|edit|change|update|modify|minify|prettify|indent|sort(?:ed)?|unchanged|exactly)\b[^.?!\n]{0,80}\bjson\b|\bjson\b[^.?!\n]{0,80}\b(?:exactly|unchanged|otherwise|sorted|reformatted|valid|as (?:it )?is)\b/i;
const QUOTED = /"([^"\n]{2,200})"|`([^`\n]{2,200})`|“([^”\n]{2,200})”/g;
const WORD = /[^\s,;?!"'`()<>{}“”]+/g;

/** Reads the user's own words; undefined when there are none. */
export function readQuestion(words: string): Question | undefined {
  const text = words.length <= MAX_QUESTION ? words : `${words.slice(0, 1500)}\n${words.slice(-1500)}`;
  if (text.trim() === '') return undefined;
  return {
    text,
    stems: new Set(contentStems(text)),
    exact: exactStrings(text),
    wantsAll: ALL.test(text),
    wantsJson: JSON_BACK.test(text),
  };
}

/** Whether a text holds one of the strings that the question names. */
export function mentions(question: Question | undefined, text: string): boolean {
  if (!question || question.exact.length === 0) return false;
  const lower = text.toLowerCase();
  return question.exact.some((exact) => lower.includes(exact));
}

function exactStrings(text: string): string[] {
  const found = new Set<string>();
  for (const [, a, b, c] of text.matchAll(QUOTED)) found.add((a ?? b ?? c ?? '').toLowerCase());
  for (const [word] of text.matchAll(WORD)) {
    const bare = word.replace(/^[[.:*]+|[\].:*]+$/g, '');
    if (isId(bare)) found.add(bare.toLowerCase());
  }
  return [...found].slice(0, 200);
}

/** A word that no prose has: with figures, inner signs or inner capitals. */
function isId(word: string): boolean {
  if (word.length < 2 || /^\d{1,2}$/.test(word)) return false;
  return (
    /\d/.test(word) ||
    /[\w\])][/._:#@=-][\w(]/.test(word) ||
    /[a-z][A-Z]/.test(word) ||
    /^[#@$/.]\w/.test(word)
  );
}

/** Whether the question names a JSON key (given with its quotes): every word of it. */
export function namesKey(question: Question | undefined, key: string): boolean {
  if (!question) return false;
  const stems = contentStems(key.replace(/_|(?<=[a-z])(?=[A-Z])/g, ' '));
  return stems.length > 0 && stems.every((stem) => question.stems.has(stem));
}
