import { dropFiller } from './filler.ts';
import type { Question } from './question.ts';
import { contentStems } from './words.ts';

const TURN =
  /^((?:\[[^\]\n]{1,40}\] ?|\([^)\n]{1,40}\) ?)?[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?(?: said,|:) ?"?)(\S.*)$/;
const MIN_TURNS = 20;
/** A turn with no more content words than this, none of them in the question, is small talk. */
const SMALL = 4;

/** A pasted conversation without polite phrases and small talk; answers to questions stay. */
export function thinTranscript(text: string, question: Question | undefined): string {
  if (!question) return text;
  const lines = text.split('\n');
  const turns = lines.map((line) => (line.length < 4000 ? TURN.exec(line) : null));
  const speakers = new Map<string, number>();
  for (const turn of turns) if (turn) speakers.set(turn[1] ?? '', (speakers.get(turn[1] ?? '') ?? 0) + 1);
  const count = turns.filter((turn) => turn && (speakers.get(turn[1] ?? '') ?? 0) > 2).length;
  if (count < MIN_TURNS || count * 10 < lines.filter((line) => line.trim() !== '').length * 6) return text;
  let left = 0;
  const kept = lines.flatMap((line, i) => {
    const turn = turns[i];
    if (!turn) return [line];
    const said = turn[2] ?? '';
    const thin = dropFiller(said);
    const answers = turns[i - 1]?.[2]?.includes('?') === true;
    if (!answers && isSmallTalk(thin, question)) {
      left++;
      return [];
    }
    return [thin === said || thin.trim() === '' ? line : `${turn[1]}${thin}`];
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
