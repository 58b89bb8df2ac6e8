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

const MIN_LINES = 8;
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
export function dropDates(lines: readonly string[]): string[] | undefined {
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
export function isStamped(line: string): boolean {
  return stampOf(line) !== undefined;
}

/** Undoes `dropDates`. */
export function restoreDates(lines: readonly string[]): string[] {
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
export function hasTimes(text: string): boolean {
  return (text.match(TIMES)?.length ?? 0) >= MIN_LINES;
}

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
