import { dropFiller } from './filler.ts';
import type { Question } from './question.ts';
import { contentStems } from './words.ts';

/** When it was said, in brackets or before a dash; who said it; what; and a closing quotation mark. */
const TURN =
  /^((?:\[[^\]\n]{1,40}\] ?|\([^)\n]{1,40}\) ?){0,2}(?:\d[\d/.,: \u202fapmAPM]{3,30} - )?)(<[^<>\n]{1,30}> |[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?(?: said, "|: ?"?))(\S.*?)("?)$/;
const MIN_TURNS = 20;
/** A turn with no more content words than this, none of them in the question, is small talk. */
const SMALL = 4;

/** A pasted conversation without polite phrases and small talk; answers to questions stay. */
export function thinTranscript(text: string, question: Question | undefined): string {
  if (!question) return text;
  const lines = text.split('\n');
  const turns = lines.map((line) => (line.length < 4000 ? TURN.exec(line) : null));
  const speakers = new Map<string, number>();
  for (const turn of turns) if (turn) speakers.set(turn[2] ?? '', (speakers.get(turn[2] ?? '') ?? 0) + 1);
  const count = turns.filter((turn) => turn && (speakers.get(turn[2] ?? '') ?? 0) > 2).length;
  if (count < MIN_TURNS || count * 10 < lines.filter((line) => line.trim() !== '').length * 6) return text;
  let left = 0;
  const kept = lines.flatMap((line, i) => {
    const turn = turns[i];
    if (!turn) return [line];
    const [, when = '', who = '', said = '', quote = ''] = turn;
    const thin = dropFiller(said);
    const answers = turns[i - 1]?.[3]?.includes('?') === true;
    if (!answers && isSmallTalk(thin, question)) {
      left++;
      return [];
    }
    return [thin === said || thin.trim() === '' ? line : when + who + thin + quote];
  });
  if (kept.join('\n') === text) return text;
  return [`[gw: polite phrases${left > 0 ? ` and ${left} turns of small talk` : ''} left out]`, ...kept].join(
    '\n',
  );
}

function isSmallTalk(said: string, question: Question): boolean {
  if (/\d/.test(said)) return false;
  const stems = contentStems(said);
  return stems.length <= SMALL && !stems.some((stem) => question.stems.has(stem));
}
