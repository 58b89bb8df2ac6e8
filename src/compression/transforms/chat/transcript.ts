import { fencedLines } from '../../blocks/blocks.ts';
import { contentStems, type Question } from '../../prompt/question.ts';

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

/** Polite phrases without content. Each pattern matches a whole sentence. */
const POLITE = [
  /^(?:[Ii]t(?:'s| is) )?(?:[Ss]o |[Rr]eally )?(?:[Gg]ood|[Gg]reat|[Nn]ice|[Ll]ovely) to (?:see|hear from|meet|talk to|chat with|catch up with) you(?: again| too)?$/,
  /^[Hh]ow (?:are|have) you(?: been| doing)?(?: today| lately)?$/,
  /^(?:[Hh]i|[Hh]ey|[Hh]ello|[Gg]ood (?:morning|afternoon|evening))(?: (?:there|again|everyone|all|[A-Z]\w{1,14}))?$/,
  /^(?:ok(?:ay)?|sure|sure thing|of course|certainly|absolutely|definitely|got it|gotcha|understood|great|awesome|perfect|wonderful|wow|cool|nice|sounds (?:good|great|like a plan|awesome))(?:,? [A-Z]\w{1,14})?$/i,
  /^(?:yes|no|yeah|sure|of course|certainly|absolutely),? (?:I can|I'd be (?:happy|glad) to) help(?: you)?(?: with (?:that|this))?$/i,
  /^(?:that(?:'s| is)|this is|what) (?:an? )?(?:really |so |such an? |very )?(?:great|good|excellent|fantastic|awesome|amazing|wonderful|interesting|lovely|cool|nice|fantastic)(?: (?:question|idea|choice|point|news|to hear))?$/i,
  /^(?:great|good|excellent|fantastic|awesome|interesting|nice) (?:question|idea|choice|point|work|job|to hear(?: from you)?)$/i,
  /^(?:I(?:'d| would) be|I(?:'m| am)) (?:more than )?(?:happy|glad|delighted|here) to (?:help|assist)\b.{0,60}$/i,
  /^I(?:'m| am) (?:so |really |very )?(?:glad|happy|sorry) to hear (?:that|it|this)$/i,
  /^(?:thanks|thank you|many thanks|thx)(?: (?:so|very) much| a lot| again)?(?: for (?:asking|sharing|confirming|clarifying|providing (?:that|this|your|the)|your (?:help|patience|question|message|time|support|understanding)|reaching out|the (?:help|info(?:rmation)?|clarification|update|details)|letting me know)\b.{0,50})?(?:,? [A-Z]\w{1,14})?$/i,
  /^(?:you(?:'re| are) (?:very |most )?welcome|no problem|no worries|my pleasure|anytime|don't mention it)(?:,? [A-Z]\w{1,14})?$/i,
  /^(?:that|this|it) sounds (?:like )?(?:an? )?(?:really |so |such an? |very |absolutely )?(?:great|good|excellent|fantastic|awesome|amazing|wonderful|interesting|lovely|delicious|fun|nice|perfect)(?: (?:idea|plan|choice|time|trip))?$/i,
  /^(?:[Ee]njoy|(?:[Gg]ood|[Bb]est of) luck (?:with|on|in)) (?:your|the|this|that) [a-z ]{3,30}$/,
  /^I (?:completely |totally |fully )?understand (?:your|the) (?:concerns?|frustration)$/i,
  /^I(?:'m| am) sorry for (?:the|any) (?:confusion|inconvenience|misunderstanding|mistake|oversight)$/i,
  /^I apologi[sz]e for (?:the|any|my) (?:confusion|inconvenience|misunderstanding|mistake|oversight|error)\b.{0,40}$/i,
  /^I (?:really )?hope (?:this|that|these|it|the above)(?: \w+){0,2} (?:helps?|(?:is|are|was|will be) (?:helpful|useful))\b.{0,60}$/i,
  /^(?:please )?(?:let me know|feel free to (?:ask|reach out|let me know)|don't hesitate to (?:ask|reach out|contact me))\b(?:.{0,20}\bif (?:you|there)\b.{0,110}|.{0,50})$/i,
  /^if you (?:have|need) (?:any|more|further|other)\b.{0,60}(?:feel free|let me know|don't hesitate|just ask|I'm here)\b.{0,60}$/i,
  /^(?:is there|do you have) (?:anything|any) (?:else|other|more)?\s?.{0,50}(?:help|assist|know|questions?)\b.{0,40}$/i,
  /^(?:have a (?:great|good|nice|wonderful|lovely) (?:day|evening|night|weekend|one|time)|take care|bye(?: for now|-bye)?|goodbye|see you(?: (?:soon|later|then))?|talk (?:to you )?(?:soon|later)|good luck|best of luck|happy \w+ing)(?:,? [A-Z]\w{1,14})?$/i,
];
const SENTENCE = /[^.!?\n]{1,200}[.!?]+(?=\s|$)[ \t]*/g;
const MAX_SENTENCE = 180;
/** The author of a line, and perhaps its time; it stays. */
const LABEL = /^(?:\[[^\]\n]{1,40}\] ?)?[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?: /;

/** Drops polite phrases. All other text, fenced code included, stays word for word. */
export function dropFiller(text: string): string {
  const lines = text.split('\n');
  const fenced = fencedLines(lines);
  return lines
    .map((line, at) => (fenced[at] || line.length > 4000 ? line : dropFromLine(line)))
    .filter((line): line is string => line !== undefined)
    .join('\n');
}

/** The line without filler; undefined if nothing else is left. */
function dropFromLine(line: string): string | undefined {
  const label = LABEL.exec(line)?.[0] ?? '';
  const speech = line.slice(label.length);
  const rest = speech.replace(SENTENCE, (sentence) => (isFiller(sentence) ? '' : sentence));
  if (rest === speech) return line;
  if (rest.trim() === '') return label === '' ? undefined : line;
  return label + rest.trimEnd();
}

function isFiller(sentence: string): boolean {
  const bare = sentence.trim().replace(/(?<![.!?])[.!?]+$/, '');
  return bare.length <= MAX_SENTENCE && POLITE.some((pattern) => pattern.test(bare));
}
