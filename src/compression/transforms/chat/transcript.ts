import type { Question } from '../../prompt/question.ts';
import { contentStems } from '../../prompt/words.ts';
import { dropFiller } from './filler.ts';

/** When it was said, in brackets or before a dash; who said it; what; and a closing quotation mark. */
const TURN =
  /^((?:\[[^\]\n]{1,40}\] ?|\([^)\n]{1,40}\) ?){0,2}(?:\d[\d/.,: \u202fapmAPM]{3,30} - )?)(<[^<>\n]{1,30}> |[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?(?: said, "|: ?"?))(\S.*?)("?)$/;
const MIN_TURNS = 20;
/** A turn with no more content words than this, none of them in the question, is small talk; what asks is not. */
const SMALL = 4;
/** What was said last may be what is asked. */
const LAST_TURNS = 2;
const MAX_SPEAKERS = 50;
const SAMPLE = 60;

/** A capital within a sentence: a name of something. */
const NAMED = /(?<=[\p{Ll},;] )\p{Lu}\p{Ll}{2,}/gu;

interface Turn {
  when: string;
  who: string;
  speech: string;
  quote: string;
}

/** A pasted conversation without polite phrases and small talk; answers to questions stay. */
export function thinTranscript(text: string, question: Question | undefined): string {
  if (!question) return text;
  const lines = text.split('\n');
  const turns = readTurns(lines);
  if (!turns) return text;
  const last = turns.findLastIndex((turn) => turn !== undefined);
  const speakers = [...new Set(turns.map((turn) => turn?.who.toLowerCase() ?? ''))].slice(0, MAX_SPEAKERS);
  const isSpeaker = (name: string) => speakers.some((who) => who.includes(name.toLowerCase()));
  let omitted = 0;
  let followsQuestion = false;
  const kept = lines.flatMap((line, i) => {
    const turn = turns[i];
    if (!turn) return [line];
    const { when, who, speech, quote } = turn;
    const thin = dropFiller(speech);
    const isAnswer = followsQuestion;
    followsQuestion = thin.includes('?');
    if (!isAnswer && i !== last && isSmallTalk(thin, question, isSpeaker)) {
      omitted++;
      return [];
    }
    return [thin === speech || thin.trim() === '' ? line : when + who + thin + quote];
  });
  if (kept.join('\n') === text) return text;
  return [
    `[gw: polite phrases${omitted > 0 ? ` and ${omitted} turns of small talk` : ''} left out]`,
    ...kept,
  ].join('\n');
}

/** The text without what a pasted conversation says, but for how it ends; the text where it holds none. */
export function withoutTurns(text: string): string {
  const lines = text.split('\n');
  const turns = readTurns(lines);
  if (!turns) return text;
  const spoken = turns.flatMap((turn, i) => (turn ? [i] : [])).slice(0, -LAST_TURNS);
  const omitted = new Set(spoken);
  return lines.filter((_, i) => !omitted.has(i)).join('\n');
}

/** The turns among the lines, where most of them are such. */
function readTurns(lines: readonly string[]): (Turn | undefined)[] | undefined {
  if (lines.length < MIN_TURNS) return undefined;
  // A conversation shows at its start; what else is long is not read to its end.
  const start = lines.slice(0, SAMPLE).filter((line) => turnOf(line) !== undefined).length;
  if (start * 5 < Math.min(lines.length, SAMPLE)) return undefined;
  const turns = lines.map(turnOf);
  const speakers = new Map<string, number>();
  for (const turn of turns) if (turn) speakers.set(turn.who, (speakers.get(turn.who) ?? 0) + 1);
  const count = turns.filter((turn) => turn && (speakers.get(turn.who) ?? 0) > 2).length;
  const filled = lines.filter((line) => line.trim() !== '').length;
  return count < MIN_TURNS || count * 10 < filled * 6 ? undefined : turns;
}

function turnOf(line: string): Turn | undefined {
  if (line.length > 4000) return undefined;
  const [found, when = '', who = '', speech = '', quote = ''] = TURN.exec(line) ?? [];
  return found === undefined ? undefined : { when, who, speech, quote };
}

function isSmallTalk(speech: string, question: Question, isSpeaker: (name: string) => boolean): boolean {
  if (/[\d?]/.test(speech) || speech.match(NAMED)?.some((name) => !isSpeaker(name))) return false;
  const stems = contentStems(speech);
  return stems.length <= SMALL && !stems.some((stem) => question.stems.has(stem));
}
