import type { Question } from '../../prompt/question.ts';
import { contentStems } from '../../prompt/words.ts';
import { dropFiller } from './filler.ts';

/** Time, in brackets or before a dash; speaker; speech; closing quotation mark. */
const TURN =
  /^((?:\[[^\]\n]{1,40}\] ?|\([^)\n]{1,40}\) ?){0,2}(?:\d[\d/.,: \u202fapmAPM]{3,30} - )?)(<[^<>\n]{1,30}> |[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?(?: said, "|: ?"?))(\S.*?)("?)$/;
const MIN_TURNS = 20;
/** A turn with at most this many content words, none of them in the question, is small talk unless it asks. */
const SMALL = 4;
/** The last turns may be the question. */
const LAST_TURNS = 2;
const MAX_SPEAKERS = 50;
const SAMPLE = 60;

/** A capitalized word within a sentence: a name. */
const NAMED = /(?<=[\p{Ll},;] )\p{Lu}\p{Ll}{2,}/gu;

interface Turn {
  when: string;
  who: string;
  speech: string;
  quote: string;
}

/** Drops polite phrases and small talk from a pasted conversation; answers to questions stay. */
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
  const output = lines.flatMap((line, i) => {
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
  if (output.join('\n') === text) return text;
  return [
    `[gw: polite phrases${omitted > 0 ? ` and ${omitted} turns of small talk` : ''} left out]`,
    ...output,
  ].join('\n');
}

/** Drops all turns of a pasted conversation but the last ones. */
export function withoutTurns(text: string): string {
  const lines = text.split('\n');
  const turns = readTurns(lines);
  if (!turns) return text;
  const spoken = turns.flatMap((turn, i) => (turn ? [i] : [])).slice(0, -LAST_TURNS);
  const omitted = new Set(spoken);
  return lines.filter((_, i) => !omitted.has(i)).join('\n');
}

/** The turn on each line; undefined unless most lines are turns. */
function readTurns(lines: readonly string[]): (Turn | undefined)[] | undefined {
  if (lines.length < MIN_TURNS) return undefined;
  // A conversation shows in its first lines; other long texts are not scanned to the end.
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
  const [match, when = '', who = '', speech = '', quote = ''] = TURN.exec(line) ?? [];
  return match === undefined ? undefined : { when, who, speech, quote };
}

function isSmallTalk(speech: string, question: Question, isSpeaker: (name: string) => boolean): boolean {
  if (/[\d?]/.test(speech) || speech.match(NAMED)?.some((name) => !isSpeaker(name))) return false;
  const stems = contentStems(speech);
  return stems.length <= SMALL && !stems.some((stem) => question.stems.has(stem));
}
