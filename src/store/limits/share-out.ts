import { grouped } from '../../json/grouped.ts';
import { fitWeights } from './fit-weights.ts';
import type { LoginRequest } from './limit-requests.ts';
import { goesOn, type LimitPoint } from './limit-rows.ts';

/** What a request is weighed by: its tokens of each kind, by model, or its list price. */
type Features = readonly number[];

/** What a window rose by between two statements, and the requests that ended in between. */
interface Interval {
  /** The number of its run of the window. */
  run: number;
  at: number;
  risePpm: number;
  requests: number[];
}

/** Shares of the requests in what a window rose by. */
export interface SharedOut {
  /** Millionths of the window, by the request's place in the list. They and `outsidePpm` sum to what was reported. */
  sharesPpm: Map<number, number>;
  outsidePpm: number;
  /** Root mean square of what the fit misses in about a tenth of a window; undefined without a fit. */
  errorPpm: number | undefined;
  /** The parts of `outsidePpm`, each at the end of a run of the window. */
  outside: { at: number; ppm: number }[];
}

const POINT = 10_000;
/** A fit has rises of at least so much, beside which rounding to a point is small. */
const CHUNK_PPM = 10 * POINT;
/** Models with weights of their own; others share one set. */
const MAX_MODELS = 6;
const ROUNDS = 6;

/**
 * Shares out what a window rose by among the requests in between. Weights are fitted to the login's own history; a rise
 * that they don't explain is outside of gw. `since`: what is older is for the fit alone.
 */
export function shareOut(
  points: readonly LimitPoint[],
  requests: readonly LoginRequest[],
  since: number,
): SharedOut {
  // Vendors count a request when it begins or when it ends: the better fit tells.
  const fits = [(request: LoginRequest) => request.endedAt, (request: LoginRequest) => request.startedAt].map(
    (timeOf) => {
      const intervals = intervalsOf(points, requests, timeOf);
      return { intervals, ...fitHistory(intervals, requests) };
    },
  );
  const [first, second] = fits;
  if (!first || !second) throw new Error('two ways to count');
  const best = (second.errorPpm ?? 0) < (first.errorPpm ?? 0) * 0.8 ? second : first;
  const { weigh, errorPpm } = best;
  return {
    ...allocate(
      best.intervals.filter(({ at }) => at > since),
      requests,
      weigh,
    ),
    errorPpm,
  };
}

/**
 * Shares out what a longer window rose by as the shorter one was: its figures are too coarse for a fit of their own.
 */
export function shareOutAs(
  shorter: SharedOut,
  points: readonly LimitPoint[],
  requests: readonly LoginRequest[],
  since: number,
): SharedOut {
  const { sharesPpm: weights, errorPpm } = shorter;
  const sharesPpm = new Map<number, number>();
  const outside: SharedOut['outside'] = [];
  const intervals = intervalsOf(points, requests, ({ endedAt }) => endedAt).filter(({ at }) => at > since);
  let total = 0;
  let weighed = 0;
  let from = Number.NEGATIVE_INFINITY;
  for (const own of grouped(intervals, ({ run }) => run).values()) {
    const inside = own.flatMap((each) => each.requests).filter((i) => weights.has(i));
    const until = own.at(-1)?.at ?? 0;
    const risePpm = sumBy(own, (each) => each.risePpm);
    const beside = sumBy(
      shorter.outside.filter(({ at }) => at > from && at <= until),
      ({ ppm }) => ppm,
    );
    const ownPpm = sumBy(inside, (i) => weights.get(i) ?? 0);
    from = until;
    const isKnown = ownPpm > 0 && ownPpm + beside > 0;
    const ppm = isKnown ? Math.round((risePpm * beside) / (ownPpm + beside)) : risePpm;
    outside.push({ at: until, ppm });
    if (isKnown) divide(risePpm - ppm, inside, (i) => (weights.get(i) ?? 0) / ownPpm, sharesPpm);
    total += risePpm;
    weighed += ownPpm + beside;
  }
  return {
    sharesPpm,
    outside,
    outsidePpm: sumBy(outside, ({ ppm }) => ppm),
    errorPpm: errorPpm === undefined || weighed <= 0 ? undefined : (errorPpm * total) / weighed,
  };
}

function intervalsOf(
  points: readonly LimitPoint[],
  requests: readonly LoginRequest[],
  timeOf: (request: LoginRequest) => number,
): Interval[] {
  const order = requests.map((_, i) => i).sort((a, b) => timeAt(a) - timeAt(b));
  function timeAt(i: number): number {
    const request = requests[i];
    return request ? timeOf(request) : 0;
  }
  let next = 0;
  let run = 0;
  return points.map((point, k) => {
    const last = points[k - 1];
    const before = last !== undefined && goesOn(last, point) ? last.usedPpm : undefined;
    if (before === undefined) run++;
    const inside: number[] = [];
    for (; next < order.length && timeAt(order[next] ?? 0) <= point.at; next++) inside.push(order[next] ?? 0);
    return { run, at: point.at, risePpm: point.usedPpm - (before ?? 0), requests: inside };
  });
}

/** Weights of tokens where the history tells them apart, else of the list price. */
function fitHistory(
  intervals: readonly Interval[],
  requests: readonly LoginRequest[],
): { weigh: (request: LoginRequest) => number; errorPpm: number | undefined } {
  // What came before the first statement is not known.
  const usable = intervals.filter((_, i) => i > 0);
  const byPrice = (request: LoginRequest): Features => [request.costNanoUsd / 1e9];
  const byTokens = tokensByModel(requests);
  const width = byTokens.width;
  const chunks = chunksOf(usable, () => 0, requests).length;
  return fitBy(chunks >= 2 * width ? byTokens.features : byPrice, usable, requests);
}

function tokensByModel(requests: readonly LoginRequest[]) {
  const costs = new Map<string, number>();
  for (const { model, costNanoUsd } of requests) costs.set(model, (costs.get(model) ?? 0) + costNanoUsd + 1);
  const models = [...costs]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_MODELS - 1)
    .map(([model]) => model);
  const width = 3 * Math.min(costs.size, MAX_MODELS);
  return {
    width,
    features(request: LoginRequest): Features {
      const row = Array.from({ length: width }, () => 0);
      const found = models.indexOf(request.model);
      const start = 3 * (found < 0 ? width / 3 - 1 : found);
      row[start] = request.inputTokens - request.cachedInputTokens;
      row[start + 1] = request.cachedInputTokens;
      row[start + 2] = request.outputTokens;
      return row;
    },
  };
}

/** Fits weights in rounds: what a round does not explain is use outside of gw, and left out of the next. */
function fitBy(
  features: (request: LoginRequest) => Features,
  intervals: readonly Interval[],
  requests: readonly LoginRequest[],
) {
  let weights: number[] = [];
  const weigh = (request: LoginRequest) =>
    features(request).reduce((sum, value, i) => sum + value * (weights[i] ?? 0), 0);
  let errorPpm: number | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const chunks = chunksOf(intervals, round === 0 ? undefined : weigh, requests).filter(
      ({ risePpm, requests: inside }) =>
        inside.length > 0 && (round === 0 || risePpm <= mostOf(sumOf(inside, requests, weigh), 0.1)),
    );
    if (chunks.length === 0) break;
    const rows = chunks.map(({ requests: inside }) => sumRows(inside.map((i) => featuresAt(i))));
    weights = fitWeights(
      rows,
      chunks.map(({ risePpm }) => risePpm),
    );
    const misses = chunks.map(({ risePpm, requests: inside }) => risePpm - sumOf(inside, requests, weigh));
    errorPpm = Math.sqrt(misses.reduce((sum, miss) => sum + miss ** 2, 0) / misses.length);
  }
  function featuresAt(i: number): Features {
    const request = requests[i];
    return request ? features(request) : [];
  }
  return { weigh, errorPpm };
}

/** The most that a rise can be without use outside of gw: rounding, and what the fit misses. */
const mostOf = (weighed: number, share: number): number => weighed * (1 + share) + 1.5 * POINT;

/** Intervals of a run in groups of a tenth of the window, without those that `weigh` does not explain. */
function chunksOf(
  intervals: readonly Interval[],
  weigh: ((request: LoginRequest) => number) | undefined,
  requests: readonly LoginRequest[],
): Pick<Interval, 'run' | 'risePpm' | 'requests'>[] {
  const chunks: Pick<Interval, 'run' | 'risePpm' | 'requests'>[] = [];
  for (const { run, risePpm, requests: inside } of intervals) {
    if (weigh && risePpm > mostOf(sumOf(inside, requests, weigh), 0.5)) continue;
    const last = chunks.at(-1);
    if (!last || last.run !== run || last.risePpm >= CHUNK_PPM)
      chunks.push({ run, risePpm, requests: [...inside] });
    else {
      last.risePpm += risePpm;
      last.requests.push(...inside);
    }
  }
  return chunks;
}

/** Gives each run's rise to its requests and to use outside of gw, in whole millionths that sum to it. */
function allocate(
  intervals: readonly Interval[],
  requests: readonly LoginRequest[],
  weigh: (request: LoginRequest) => number,
): Omit<SharedOut, 'errorPpm'> {
  const sharesPpm = new Map<number, number>();
  const parts: SharedOut['outside'] = [];
  for (const own of grouped(intervals, ({ run }) => run).values()) {
    const risePpm = sumBy(own, (each) => each.risePpm);
    let outside = 0;
    for (const each of own) {
      const weighed = sumOf(each.requests, requests, weigh);
      if (each.risePpm > mostOf(weighed, 0.5)) outside += each.risePpm - weighed;
    }
    const inside = own.flatMap((each) => each.requests);
    const weighed = sumOf(inside, requests, weigh);
    if (risePpm - outside > mostOf(weighed, 0.15)) outside = risePpm - weighed;
    outside = weighed === 0 ? risePpm : Math.max(0, Math.min(risePpm, Math.round(outside)));
    parts.push({ at: own.at(-1)?.at ?? 0, ppm: outside });
    divide(risePpm - outside, inside, (i) => weighAt(i) / (weighed || 1), sharesPpm);
  }
  function weighAt(i: number): number {
    const request = requests[i];
    return request ? weigh(request) : 0;
  }
  return { sharesPpm, outside: parts, outsidePpm: sumBy(parts, ({ ppm }) => ppm) };
}

const sumBy = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0);

/** Divides a whole number: the last gets what rounding leaves. */
function divide(
  total: number,
  inside: readonly number[],
  shareOf: (i: number) => number,
  into: Map<number, number>,
): void {
  let given = 0;
  let sum = 0;
  inside.forEach((i, place) => {
    sum += shareOf(i);
    const until = place === inside.length - 1 ? total : Math.round(total * sum);
    into.set(i, (into.get(i) ?? 0) + until - given);
    given = until;
  });
}

function sumOf(
  inside: readonly number[],
  requests: readonly LoginRequest[],
  weigh: (request: LoginRequest) => number,
): number {
  return inside.reduce((sum, i) => {
    const request = requests[i];
    return request ? sum + weigh(request) : sum;
  }, 0);
}

function sumRows(rows: readonly Features[]): number[] {
  const [first = []] = rows;
  return first.map((_, i) => rows.reduce((sum, row) => sum + (row[i] ?? 0), 0));
}
