import { type Candidate, rank } from '../../prompt/ranking.ts';
import { contentStems, wordsOf } from '../../prompt/words.ts';
import { type DocumentList, findDocuments } from './documents.ts';
import { Shortener, type Wanted } from './shorten.ts';

/** At least this many stay, and a share of a long list; what scores near the best stays as well. */
const MIN_KEPT = 3;
const KEPT_SHARE = 0.01;
const NEAR_BEST = 0.55;
const MAX_KEPT_FACTOR = 2;
/** What scores less than this of the best one stays for its sentences that hold a word of the question. */
const WHOLE = 0.35;
/** Beyond the best two it takes more. */
const WHOLE_BEYOND = 0.8;
/**
 * When the best ones hold less than this of what a short question asks for, one may answer it in other
 * words; a long one that has so little in common with them asks about something else.
 */
const MIN_COVERED = 0.25;
const SHORT_QUESTION = 8;
const LABELLED = /^\W{0,3}(?:user )?(?:question|query)\W{0,3}:(.+)$/gim;
/** Lists shorter than this cost little. */
const MIN_LENGTH = 4000;
/** Tasks for which every document counts. */
const NEEDS_ALL =
  /\b(?:summar(?:y|ies|i[sz]e)|translate|classify|proofread|compare|contrast|overview|rank|each|every|(?:list|extract|find|name|count) (?:all|every|the)|how many (?:documents|passages|sources|articles|results))\b|\ball (?:of )?(?:the |these |those )?(?:documents|passages|sources|articles|chunks|results|pages|texts|snippets)\b/i;

/**
 * Leaves out documents that have least to do with the question, in place and without reordering. In a
 * user's message the question is what stands around them; `asked` is the one before, for a tool's result.
 */
export function selectDocuments(text: string, previousQuestion: string | undefined, own: boolean): string {
  if (text.length < MIN_LENGTH) return text;
  const list = findDocuments(text);
  if (!list) return text;
  const around = own ? questionAround(list) : '';
  const question = contentStems(around).length > 0 ? around : (previousQuestion ?? '');
  const choice = chooseCandidates(question, list.documents);
  if (!choice) return text;
  const left = list.documents.length - choice.kept.size;
  const shortener = new Shortener(choice);
  const documents = list.documents.flatMap(({ text }, i) =>
    choice.kept.has(i) ? [shortener.shorten(text, i)] : [],
  );
  const body = documents.join('');
  const parts = shortener.hasGaps ? ', "…" of others' : '';
  const mark = `[gw: ${left} of ${list.documents.length} documents left out${parts}]\n`;
  return `${list.head}${body}${body.endsWith('\n') ? '' : '\n'}${mark}${list.tail}`;
}

export interface Choice extends Wanted {
  kept: ReadonlySet<number>;
}

/** Which candidates stay; undefined when all should. */
export function chooseCandidates(question: string, candidates: readonly Candidate[]): Choice | undefined {
  const query = labelled(question);
  const { length } = contentStems(query);
  if (length === 0 || NEEDS_ALL.test(question)) return undefined;
  const { scores, order, covered, telling } = rank(query, candidates);
  const best = scores[order[0] ?? 0] ?? 0;
  // Little in common with any: then the ranking says nothing.
  if (best === 0 || (length <= SHORT_QUESTION && covered < MIN_COVERED)) return undefined;
  const least = MIN_KEPT + Math.floor(KEPT_SHARE * candidates.length);
  const kept = order.filter(
    (i, place) => place < least || (place < least * MAX_KEPT_FACTOR && (scores[i] ?? 0) >= NEAR_BEST * best),
  );
  const named = namedIn(query, candidates);
  const all = new Set([...kept, ...named]);
  if (all.size === candidates.length) return undefined;
  const close = kept.filter((i, place) => (scores[i] ?? 0) >= best * (place < 2 ? WHOLE : WHOLE_BEYOND));
  return { kept: all, whole: new Set([...close, ...named]), terms: telling };
}

/** Candidates whose whole title stands in the question are what it is about, however short they are. */
function namedIn(question: string, candidates: readonly Candidate[]): number[] {
  const words = ` ${wordsOf(question).join(' ')} `;
  return candidates.flatMap(({ title }, i) => {
    if (contentStems(title).length === 0) return [];
    return words.includes(` ${wordsOf(title).join(' ')} `) ? [i] : [];
  });
}

/** What stands after `Question:`, or all of it: instructions around it say how to answer, not what is asked. */
function labelled(question: string): string {
  const found = [...question.matchAll(LABELLED)].map(([, query]) => query ?? '');
  return found.length > 0 ? found.join('\n') : question;
}

function questionAround({ head, tail }: DocumentList): string {
  return `${head.slice(-1500)}\n${tail.slice(0, 1500)}\n${tail.length > 3000 ? tail.slice(-1500) : ''}`;
}
