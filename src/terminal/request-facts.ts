import { isObject } from '../json/object.ts';
import { formatUsd } from '../money.ts';
import type { RequestView } from '../operations/schemas/requests.ts';
import { count, plural, usdText } from './numbers.ts';
import { costOf, missText, originText, servedBy } from './request-words.ts';
import { type TimeFormat, tookText } from './time.ts';

export type Fact = [label: string, text: string];

/** Everything recorded about a request. */
export function factsOf(request: RequestView, times: TimeFormat): Fact[] {
  return [
    ['id', `${request.id}  ${times.dateTime(Date.parse(request.created_at))}`],
    [
      'project',
      `${request.project_id}${request.key_hint === null ? '' : `  key ...${request.key_hint}`}  ${request.endpoint}`,
    ],
    ['from', originText(request)],
    ...labelsFact(request.labels),
    ['route', routeText(request)],
    ['outcome', outcomeText(request)],
    ...foldFact(request, times),
    ['input', inputText(request)],
    ['output', `${plural(request.output_tokens, 'token')}${part(request.reasoning_tokens, 'of reasoning')}`],
    ['cost', costLine(request)],
    ['saved', savedText(request)],
    ['timing', timingText(request)],
    ...stagesFact(request),
    ...dollarsFact(request),
    ...optimizerFact(request.detail.optimizer),
    ...missFact(request.detail.cache_miss),
    ...budgetFact(request.detail),
    ...limitFact(request.detail.max_output_tokens),
    ...leftOutFact(request.detail.left_out),
    ...Object.entries(request.detail)
      .filter(([name]) => !OWN_FACTS.has(name))
      .flatMap(([name, value]) => detailFacts(name, value)),
  ];
}

/** Details that factsOf() shows in a separate fact. */
const OWN_FACTS: ReadonlySet<string> = new Set([
  ...['budget', 'team', 'granted_usd', 'team_left_usd', 'error', 'budget_cap_usd'],
  ...['budget_spent_usd', 'budget_held_usd', 'max_output_tokens', 'left_out', 'optimizer', 'cache_miss'],
]);

function labelsFact(labels: RequestView['labels']): Fact[] {
  if (!labels) return [];
  const texts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [['labels', texts.join('  ')]];
}

function routeText(request: RequestView): string {
  const off = request.flags.includes('noRoute') ? '  (routing off)' : '';
  // Unparsed requests have no model.
  const requested = request.asked_model === '' ? '' : `${request.asked_model} > `;
  return `${requested}${servedBy(request)}${off}`;
}

function outcomeText({ outcome, status, flags, detail }: RequestView): string {
  const error = typeof detail.error === 'string' ? `: ${detail.error}` : '';
  const shown = flags.filter((flag) => flag !== 'noRoute').join(', ');
  return `${outcome.replaceAll('_', ' ')}${error}${status === 0 ? '' : `, HTTP ${status}`}${shown && `  (${shown})`}`;
}

/** Number of refusals that share the record. */
function foldFact({ count: refusals, last_at }: RequestView, times: TimeFormat): Fact[] {
  if (refusals === undefined || last_at === undefined) return [];
  const last = times.dateTime(Date.parse(last_at));
  return [['count', `${count(refusals)} refusals of this key share the record, the last ${last}`]];
}

function inputText({ input_tokens, cached_input_tokens, cache_write_tokens }: RequestView): string {
  return `${plural(input_tokens, 'token')}${part(cached_input_tokens, 'from cache')}${part(cache_write_tokens, 'written to cache')}`;
}

/** The cost, the hold, and the difference returned to the budget. */
function costLine(request: RequestView): string {
  const { cost_nano_usd: costNanoUsd, held_nano_usd: holdNanoUsd, flags } = request;
  const cost = costOf({ costNanoUsd, flags });
  if (flags.includes('not_billed')) return `${cost}: ${formatUsd(costNanoUsd)} at list price`;
  if (holdNanoUsd === 0) return `${cost}, nothing was held`;
  const back = holdNanoUsd - costNanoUsd;
  const rest = back < 0 ? `${formatUsd(-back)} over it` : `${formatUsd(back)} given back`;
  return `${cost} of ${formatUsd(holdNanoUsd)} held, ${rest}`;
}

function timingText(request: RequestView): string {
  const { duration_ms: durationMs, first_byte_ms: firstByteMs, output_tokens: outputTokens } = request;
  const first = firstByteMs === null ? '' : `, first byte after ${tookText(firstByteMs)}`;
  const generating = durationMs - (firstByteMs ?? durationMs);
  const rate =
    generating > 0 && outputTokens > 0
      ? `, ${count(Math.round((outputTokens * 1_000) / generating))} tokens/s`
      : '';
  return `${tookText(durationMs)}${first}${rate}`;
}

/** Duration of each stage, from the differences between the recorded end times. */
function stagesFact({ timings, first_byte_ms: firstByteMs, duration_ms: durationMs }: RequestView): Fact[] {
  const ends: [string, number | null][] = [
    ['reading', timings.body_ms],
    ['compressing', timings.compressed_ms],
    ['admitting', timings.held_ms],
    ['sending', timings.sent_ms],
    ['provider', firstByteMs],
    ['answering', durationMs],
  ];
  if (timings.body_ms === null) return [];
  const reached = ends.filter((end): end is [string, number] => end[1] !== null);
  const parts = reached.map(([stage, end], i) => {
    const took = Math.max(0, end - (reached[i - 1]?.[1] ?? 0));
    return `${stage} ${took < 1 ? `${took.toFixed(1)} ms` : tookText(took)}`;
  });
  return [['stages', parts.join(', ')]];
}

/** Savings by compression, or the reason why it left the request unchanged. */
function savedText({ saved_nano_usd: nanoUsd, saved_tokens: saved, flags }: RequestView): string {
  if (flags.includes('replayed')) return `${formatUsd(nanoUsd)}, answered from disk`;
  const amount = `${formatUsd(nanoUsd)}, ${plural(saved, 'token')} by compression`;
  if (flags.includes('noOptimize')) return `${amount}: switched off for this request`;
  if (flags.includes('optimizedLate')) return `${amount}: left as it was, as time ran out`;
  if (flags.includes('heldOut')) return `${amount}: left as it was, to measure whether compression pays`;
  return amount;
}

/** Amounts that each stage saved, held, charged or gave back. */
function dollarsFact(request: RequestView): Fact[] {
  const { saved_nano_usd: saved, held_nano_usd: held, cost_nano_usd: cost, flags } = request;
  if (held === 0 || flags.includes('not_billed')) return [];
  const back = held - cost;
  const parts = [
    ...(saved > 0 ? [`compressing saved ${formatUsd(saved)}`] : []),
    `admitting held ${formatUsd(held)}`,
    `provider took ${costOf({ costNanoUsd: cost, flags })}`,
    `settling ${back < 0 ? `added ${formatUsd(-back)}` : `gave back ${formatUsd(back)}`}`,
  ];
  return [['dollars', parts.join(', ')]];
}

/**
 * The budget that blocked the request, with its amounts at that time. Records of 0.2.0 and before have only its name.
 */
function budgetFact({ budget, ...detail }: RequestView['detail']): Fact[] {
  if (typeof budget !== 'string') return [];
  const { budget_cap_usd: cap, budget_spent_usd: spent, budget_held_usd: held } = detail;
  if (typeof cap !== 'number') return [['budget', `${budget} had no room`]];
  const [capText, spentText, heldText, leftText, grantedText] = [
    ...[cap, spent, held, detail.team_left_usd, detail.granted_usd],
  ].map((usd) => usdText(Number(usd)));
  const ofTeam = detail.team ? `; ${leftText} left for the team, ${grantedText} granted here` : '';
  return [
    ['budget', `${budget} had no room: ${spentText} spent and ${heldText} held of ${capText}${ofTeam}`],
  ];
}

/** Number of messages that each transform changed, and the reasons for leaving others unchanged. */
function optimizerFact(work: unknown): Fact[] {
  if (!isObject(work)) return [];
  const { changed, left } = work;
  const parts = [
    ...Object.entries(isObject(changed) ? changed : {}).map(
      ([transform, messages]) => `${transform} changed ${plural(Number(messages), 'message')}`,
    ),
    ...Object.entries(isObject(left) ? left : {}).map(
      ([reason, messages]) => `${count(Number(messages))} left: ${LEFT[reason] ?? reason}`,
    ),
  ];
  return parts.length === 0 ? [] : [['optimizer', parts.join('; ')]];
}

const LEFT: Record<string, string> = {
  own_words: "the model's own words",
  short_prompt: 'short prompts are meant literally',
  no_gain: 'nothing to gain',
  failed: 'a transform failed',
};

const part = (tokens: number, what: string): string => (tokens > 0 ? `, ${count(tokens)} ${what}` : '');

function missFact(miss: unknown): Fact[] {
  const text = missText(miss);
  return text === undefined ? [] : [['cache miss', text]];
}

/** The output limit, if gw lowered it to fit a budget. */
function limitFact(lowered: unknown): Fact[] {
  if (!isObject(lowered)) return [];
  const { asked, sent } = lowered;
  const own = asked === null ? 'the request set none' : `the request's own was ${count(Number(asked))}`;
  return [['limit', `${plural(Number(sent), 'token')} of output, to fit a budget; ${own}`]];
}

/** Request fields without an equivalent in the provider's API. */
function leftOutFact(fields: unknown): Fact[] {
  return Array.isArray(fields) ? [['left out', `${fields.join(', ')}, which the provider's API lacks`]] : [];
}

/** Other recorded details, such as attempts and prices: one line per list item, fields as `name value`. */
function detailFacts(name: string, value: unknown): Fact[] {
  if (!Array.isArray(value)) return [[name, textOfDetail(name, value)]];
  const textOf = name === 'attempts' ? attemptText : wordsOf;
  return value.map((each, i): Fact => [i === 0 ? name : '', textOf(each)]);
}

function textOfDetail(name: string, value: unknown): string {
  if (name === 'need' && isObject(value)) return needText(value);
  if (name === 'tier' && isObject(value)) return tierText(value);
  if (name === 'shadow' && isObject(value)) return shadowText(value);
  if (name === 'feedback') return `${String(value)} of 1, as reported`;
  return wordsOf(value);
}

const BOUND_WORDS: Readonly<Record<string, string>> = {
  bytes: 'by bytes',
  exact: 'counted',
  edit: 'from an earlier report',
  provider_count: "by the provider's count",
};

/** The request's maximum cost, and the method that bounded its input. */
export function needText(need: Record<string, unknown>): string {
  const usd = (value: unknown) => usdText(Number(value));
  const bound = BOUND_WORDS[String(need.input_bound)] ?? String(need.input_bound);
  const fees = Number(need.fees_usd) > 0 ? `, fees ${usd(need.fees_usd)}` : '';
  const limit =
    typeof need.output_asked_tokens === 'number' && need.output_asked_tokens !== need.output_tokens
      ? ` of ${count(need.output_asked_tokens)} asked for`
      : '';
  return `at most ${count(Number(need.input_tokens))} tokens in (${bound}) ${usd(need.input_usd)}, ${count(Number(need.output_tokens))}${limit} out ${usd(need.output_usd)}${fees}`;
}

function attemptText({ provider, model, outcome, ms, cost_usd }: Record<string, unknown>): string {
  const cost = usdText(Number(cost_usd));
  const target = servedBy({ provider: String(provider), model: String(model) });
  return `${target}: ${outcome}, ${tookText(Number(ms))}, ${cost}`;
}

function wordsOf(value: unknown): string {
  if (!isObject(value)) return String(value);
  return Object.entries(value)
    .map(
      ([name, each]) =>
        `${name.replaceAll('_', ' ')} ${typeof each === 'object' ? JSON.stringify(each) : String(each)}`,
    )
    .join(', ');
}

/** Untyped, because an older daemon may have written the record. */
type Recorded = Record<string, unknown>;

const DECIDERS: Record<string, string> = {
  needs: 'what the cheaper tier lacks',
  min_tier: 'the requested minimum tier',
  tool_loop: 'the running tool loop',
  sealed: 'encrypted reasoning that only it can read',
  budget: 'the budget',
  share: 'the share',
  gain: 'the expected gain of the strong tier',
  sticky: 'the tier that the conversation already has',
};

/** The tier of a request and the reason for it. */
function tierText(tier: Recorded): string {
  const { chosen, applied, by, lacks, saved_usd: saved } = tier;
  const decided = `decided by ${DECIDERS[String(by)] ?? by}${lacks === undefined ? '' : ` (${lacks})`}`;
  const parts = [
    applied === true
      ? `${chosen}, ${decided}`
      : `the requested model, because too little is known; it would be ${chosen}`,
    scoreText(tier),
    ...(typeof saved === 'number' ? [`saved ${usdText(saved)}`] : []),
  ];
  return parts.join('; ');
}

/** `score 0.21, below 0.35 (short), by the built-in rules`. */
function scoreText({ score, threshold, why, basis }: Recorded): string {
  const side =
    typeof threshold === 'number'
      ? `, ${Number(score) < threshold ? 'below' : 'at least'} ${decimal(threshold)}`
      : '';
  const reasons = typeof why === 'string' && why !== '' ? ` (${why.replaceAll(',', ', ')})` : '';
  const source = basis === 'learnt' ? 'what the project learnt' : 'the built-in rules';
  return `score ${decimal(score)}${side}${reasons}, by ${source}`;
}

/** Purpose of a shadow request, with which earlier versions compared the answers of the two tiers. */
function shadowText({ of, tier, agrees }: Recorded): string {
  const outcome =
    agrees === null || agrees === undefined
      ? 'the answers cannot be compared'
      : agrees
        ? 'the answers agree'
        : 'the answers differ';
  return `of ${of}, to compare with the ${tier === 'weak' ? 'cheaper' : 'strong'} tier; ${outcome}`;
}

const decimal = (value: unknown): string => String(Math.round(Number(value) * 100) / 100);
