import { estimateTokens } from './estimate.ts';

/** Fewer turns don't pay for the legend. */
const MIN_TURNS = 12;
const MIN_SHARE = 0.6;
/** In characters: what is shorter on the whole are fields rather than what somebody says. */
const MIN_SAID = 30;
const MAX_SPEAKERS = 8;
const WORTH = 0.97;
/** A time in brackets, a name, and what leads to what was said. */
const TURN =
  /^((?:\[[^\]\n]{1,40}\] ?|\([^)\n]{1,40}\) ?)?)([A-Z]\w?[a-z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?(?: said, "|: ?))(\S.*)$/;
const CODED = /^((?:\[[^\]\n]{1,40}\] ?|\([^)\n]{1,40}\) ?)?)([A-Z][a-z]?\d?): (.*)$/;
const LEGEND = '[gw speakers: ';
const BETWEEN = ' | ';
/** Labels of worked examples and of notes are meant as they are written. */
const LABELS =
  /^(?:User|Assistant|Human|AI|System|Bot|Question|Answer|Input|Output|Note|Notes|Example|Warning|Error|Info|Step|Option|Title|Date|Time|From|To|Subject|Author|Name|Description|Summary|Response|Instruction|Context|Label|Review)\b/;

interface Speaker {
  code: string;
  /** What stands before what was said, and after it. */
  start: string;
  end: string;
}

/** A pasted conversation with a letter for each speaker: names and `said` are a tenth of it. */
export function foldSpeakers(text: string): string {
  const lines = text.split('\n');
  if (lines.length < MIN_TURNS) return text;
  const turns = lines.map((line) => (line.length < 4000 ? TURN.exec(line) : null));
  const speakers = findSpeakers(turns);
  const filled = lines.filter((line) => line.trim() !== '').length;
  let coded = 0;
  let length = 0;
  const out = lines.map((line, i) => {
    const speaker = speakers.get(turns[i]?.[2] ?? '');
    const said = turns[i]?.[3] ?? '';
    if (!speaker || !said.endsWith(speaker.end)) return line;
    coded++;
    length += said.length;
    return `${turns[i]?.[1]}${speaker.code}: ${said.slice(0, said.length - speaker.end.length)}`;
  });
  if (coded < MIN_TURNS || coded < filled * MIN_SHARE || length < coded * MIN_SAID) return text;
  const names = [...speakers.values()].map(({ code, start, end }) => `${code}: = ${start}…${end}`);
  const folded = [`${LEGEND}${names.join(BETWEEN)}]`, ...out].join('\n');
  // A line that has a code of its own would be read as another's.
  if (estimateTokens(folded) > estimateTokens(text) * WORTH || unfoldSpeakers(folded) !== text) return text;
  return folded;
}

/** Undoes `foldSpeakers`. */
export function unfoldSpeakers(text: string): string {
  const [legend = '', ...lines] = text.split('\n');
  if (!legend.startsWith(LEGEND)) return text;
  const speakers = new Map<string, Speaker>();
  for (const entry of legend.slice(LEGEND.length, -1).split(BETWEEN)) {
    const [, code = '', start = '', end = ''] = /^(\w+): = (.*)…(.?)$/.exec(entry) ?? [];
    speakers.set(code, { code, start, end });
  }
  return lines
    .map((line) => {
      const [, time, code, said] = CODED.exec(line) ?? [];
      const speaker = code === undefined ? undefined : speakers.get(code);
      return speaker ? `${time}${speaker.start}${said}${speaker.end}` : line;
    })
    .join('\n');
}

/** Who speaks, by what stands before their words; none where it is something else than a conversation. */
function findSpeakers(turns: readonly (RegExpExecArray | null)[]): Map<string, Speaker> {
  const counts = new Map<string, number>();
  for (const turn of turns) if (turn) counts.set(turn[2] ?? '', (counts.get(turn[2] ?? '') ?? 0) + 1);
  const starts = [...counts]
    .filter(([start, count]) => count > 2 && !LABELS.test(start))
    .map(([start]) => start);
  const speakers = new Map<string, Speaker>();
  if (starts.length < 2 || starts.length > MAX_SPEAKERS) return speakers;
  const codes = new Set<string>();
  for (const start of starts) {
    const code = [start[0] ?? '', start.slice(0, 2), `${start[0]}${speakers.size}`].find(
      (one) => /^[A-Z][a-z]?\d?$/.test(one) && !codes.has(one),
    );
    if (code === undefined) continue;
    codes.add(code);
    speakers.set(start, { code, start, end: start.endsWith('"') ? '"' : '' });
  }
  return speakers;
}
