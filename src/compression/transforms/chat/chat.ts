import { joinLines } from '../../blocks/blocks.ts';
import { estimateTokens } from '../../prompt/estimate.ts';
import type { Level, Scope } from '../scope.ts';

const MIN_LINES = 8;
const WORTH = 0.98;
const LEGEND = /^\[gw chat: .*\]$/;
const QUOTED_LEGEND = /"[^"]* said, "…", of (.{0,1000}?)(?:; |\]$)/;
const DATES = 'a date is left out where the one before holds';

/** Drops what every message of a pasted chat repeats: `said` and, at `balanced`, its date. */
export function shortenChat(text: string, { level }: Pick<Scope, 'level'>): string {
  const { head, written, tail } = frameChat(text, level) ?? { head: text, written: '', tail: '' };
  return head + written + tail;
}

/** Finds and shortens the chat in a text; undefined if there is none, or too little to gain. */
export function frameChat(text: string, level: Level) {
  const hasSpeech = text.includes(' said, "');
  const hasDates = level !== 'safe' && hasTimes(text);
  const lines = hasSpeech || hasDates ? text.split('\n') : [];
  if (lines.length < MIN_LINES) return undefined;
  const dialogue = hasSpeech ? unquoteSpeech(lines) : undefined;
  const undatedLines = hasDates ? dropDates(dialogue?.lines ?? lines) : undefined;
  if (!dialogue && !undatedLines) return undefined;
  const out = undatedLines ?? dialogue?.lines ?? lines;
  const isMessage = (line: string, i: number) =>
    line !== lines[i] || (undatedLines !== undefined && isStamped(line));
  const first = out.findIndex(isMessage);
  const end = out.findLastIndex(isMessage) + 1;
  const legends = [...(dialogue ? [legendOf(dialogue)] : []), ...(undatedLines ? [DATES] : [])];
  const chat = joinLines(lines, first, end);
  const output = `[gw chat: ${legends.join('; ')}]\n${joinLines(out, first, end)}`;
  if (estimateTokens(output) > estimateTokens(chat) * WORTH) return undefined;
  const head = first === 0 ? '' : joinLines(lines, 0, first);
  return { head, chat, written: output, tail: joinLines(lines, end, lines.length) };
}

/** Undoes `shortenChat`. */
export function restoreChat(text: string): string {
  if (!text.includes('[gw chat: ')) return text;
  const lines = text.split('\n');
  const at = lines.findIndex((line) => LEGEND.test(line));
  const [legend = ''] = at < 0 ? [] : lines.splice(at, 1);
  const dated = legend.includes(DATES) ? restoreDates(lines) : lines;
  const speakers = QUOTED_LEGEND.exec(legend)?.[1]?.split(', ');
  return (speakers ? quoteSpeech({ speakers, lines: dated }) : dated).join('\n');
}

function legendOf({ speakers }: Dialogue): string {
  return `"Name: …" stands for Name said, "…", of ${speakers.join(', ')}`;
}

const QUOTED_SPEECH = /^(\p{Lu}[\p{L}\p{N}_'.-]{0,20}(?: [\p{L}\p{N}_'.-]{1,20}){0,2}) said, "(.*)"$/u;
const WRITTEN = /^([^:]{1,70}): (.*)$/;

/** Reported speech (`Ann said, "Hello."`) as lines of a dialogue (`Ann: Hello.`). */
interface Dialogue {
  speakers: readonly string[];
  lines: readonly string[];
}

/** Turns reported speech into a dialogue; undefined if the lines are not reported speech. */
function unquoteSpeech(lines: readonly string[]): Dialogue | undefined {
  const counts = new Map<string, number>();
  let total = 0;
  for (const line of lines) {
    const name = QUOTED_SPEECH.exec(line)?.[1];
    if (name === undefined) continue;
    total++;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const speakers = [...counts.keys()];
  if (total < MIN_LINES || speakers.length < 2 || speakers.length * 4 > total) return undefined;
  const dialogue = { speakers, lines: lines.map((line) => line.replace(QUOTED_SPEECH, '$1: $2')) };
  // A line that already looks like dialogue could be mistaken for reported speech.
  return quoteSpeech(dialogue).every((line, i) => line === lines[i]) ? dialogue : undefined;
}

/** Undoes `unquoteSpeech`. */
function quoteSpeech({ speakers, lines }: Dialogue): string[] {
  const names = new Set(speakers);
  return lines.map((line) => {
    const [, name = '', text] = WRITTEN.exec(line) ?? [];
    return names.has(name) ? `${name} said, "${text}"` : line;
  });
}

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\\.?';
const DATE = `(?:\\d{4}[-/.]\\d{1,2}[-/.]\\d{1,2}|\\d{1,2}[-/.]\\d{1,2}[-/.]\\d{2,4}|\\d{1,2} ${MONTH},? \\d{4}|${MONTH} \\d{1,2},? \\d{4})`;
const TIME = '(?<![\\w:])\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:[ \\u202f][AaPp]\\.?[Mm]\\b\\.?)?';
const ANY_TIME = /\d:\d{2}/;
const TIMES = /\d:\d{2}/g;
/** The start of a line, then the date with the separator between it and the time. */
const DATE_FIRST = new RegExp(`^(.{0,40}?)(${DATE}(?:, | at |T| ))(?=${TIME})`);
const TIME_FIRST = new RegExp(`^(.{0,40}?${TIME})((?: on |, | )${DATE})`);
const TIME_ALONE = new RegExp(`^(.{0,40}?)${TIME}`);
/** The author after the time: `] Ann: `, ` - Ann: `, `] <ann> `. Logs lack the separator. */
const SPEAKER = /^(?:[\])] ?(?:- )?| - )(?:<([^<>\n]{1,40})>|(\p{L}[^:<>[\](){}=/\n]{0,39}):)(?= |$)/u;
const LEVEL = /^(?:trace|debug|info|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe)$/i;
/** Only this much of a line is searched for its time and author. */
const MAX_HEAD = 120;

const MIN_OF_SPEAKER = 3;
/** A date is repeated after this many messages, for readers who start in the middle. */
const MAX_APART = 12;

/** The timestamp of a line. */
interface Stamp {
  /** The range of its date, with the separator to the time. */
  from: number;
  end: number;
  /** The same for lines with the same timestamp format. */
  form: string;
  speaker: string | undefined;
}

/** Drops the dates of a chat that repeat the previous one; undefined if the lines are no dated chat. */
function dropDates(lines: readonly string[]): string[] | undefined {
  const pattern = isChat(lines, DATE_FIRST) ? DATE_FIRST : isChat(lines, TIME_FIRST) ? TIME_FIRST : undefined;
  if (!pattern) return undefined;
  const forms = new Set<string>();
  let before: string | undefined;
  let apart = 0;
  const out = lines.map((line) => {
    const stamp = stampOf(line, pattern);
    if (!stamp) return line;
    const date = line.slice(stamp.from, stamp.end);
    const isRepeated = date === before && forms.has(stamp.form) && ++apart < MAX_APART;
    if (isRepeated) return line.slice(0, stamp.from) + line.slice(stamp.end);
    forms.add(stamp.form);
    before = date;
    apart = 0;
    return line;
  });
  // A line that only mentions a time could be mistaken for one whose date was dropped.
  return restoreDates(out).every((line, i) => line === lines[i]) ? out : undefined;
}

/** Whether a line has a timestamp with a date. */
const isStamped = (line: string): boolean => stampOf(line) !== undefined;

/** Undoes `dropDates`. */
function restoreDates(lines: readonly string[]): string[] {
  const forms = new Set<string>();
  let before = '';
  return lines.map((line) => {
    const stamp = stampOf(line);
    if (stamp) {
      forms.add(stamp.form);
      before = line.slice(stamp.from, stamp.end);
      return line;
    }
    const head = line.slice(0, MAX_HEAD);
    const match = TIME_ALONE.exec(head);
    if (!match || before === '') return line;
    const from = before.startsWith(' ') || before.startsWith(',') ? match[0].length : (match[1]?.length ?? 0);
    const restored = line.slice(0, from) + before + line.slice(from);
    const form = stampOf(restored)?.form;
    return form !== undefined && forms.has(form) ? restored : line;
  });
}

/** Whether a text contains enough times to be a chat worth parsing. */
const hasTimes = (text: string): boolean => (text.match(TIMES)?.length ?? 0) >= MIN_LINES;

/** Whether enough lines have a date, and at least two authors wrote nearly all of them. */
function isChat(lines: readonly string[], pattern: RegExp): boolean {
  const speakers = new Map<string, number>();
  let stamped = 0;
  for (const line of lines) {
    const stamp = stampOf(line, pattern);
    if (!stamp) continue;
    stamped++;
    const { speaker } = stamp;
    if (speaker !== undefined) speakers.set(speaker, (speakers.get(speaker) ?? 0) + 1);
    // A log is recognized early.
    else if (stamped >= MIN_LINES && speakers.size === 0) return false;
  }
  const counts = [...speakers.values()].filter((count) => count >= MIN_OF_SPEAKER);
  const spoken = counts.reduce((sum, count) => sum + count, 0);
  return stamped >= MIN_LINES && counts.length >= 2 && spoken * 5 >= stamped * 4;
}

function stampOf(line: string, pattern?: RegExp): Stamp | undefined {
  const head = line.slice(0, MAX_HEAD);
  if (!ANY_TIME.test(head)) return undefined;
  const match = pattern ? pattern.exec(head) : (DATE_FIRST.exec(head) ?? TIME_FIRST.exec(head));
  if (!match) return undefined;
  const lead = match[1] ?? '';
  const end = match[0].length;
  const from = lead.length;
  const without = head.slice(0, from) + head.slice(end);
  const time = TIME_ALONE.exec(without);
  const before = time?.[1] ?? '';
  const after = without.slice(time?.[0].length ?? 0);
  const [, nick, name] = SPEAKER.exec(after) ?? [];
  const leadingName = /^(\p{L}[^[\]()]{0,36}?) ?[—–-]? ?$/u.exec(before)?.[1];
  const form = `${shapeOf(before)}|${/^[^\p{L}\p{N}]{0,3}/u.exec(after)?.[0]}`;
  const speaker = nick ?? name ?? (after === '' ? leadingName : undefined);
  return { from, end, form, speaker: LEVEL.test(speaker ?? '') ? undefined : speaker };
}

/** The format of the start of a line: words and numbers are replaced by placeholders. */
function shapeOf(start: string): string {
  return start.replace(/\p{L}[\p{L}\p{N}_'.-]*(?: \p{L}[\p{L}\p{N}_'.-]*)*/gu, 'a').replace(/\d+/g, '0');
}
