import { requestIdAt } from '../../ids.ts';
import { remembered } from '../../json/grouped.ts';
import type { Db } from '../database/open.ts';
import { newestFrom } from '../database/sql-parts.ts';
import { OUTCOMES, SOURCES } from '../ledger/record.ts';

/** How a provider answered in each twelfth of the last hour, the oldest first; null without answers. */
export interface ProviderTrend {
  provider: string;
  /** The mean time to the first byte. */
  firstByteMs: (number | null)[];
  /** Output tokens a second, while it answered. */
  tokensPerSecond: (number | null)[];
  /** The share of the input that came from its cache. */
  cachedShare: (number | null)[];
}

interface Piece {
  provider: string;
  slot: number;
  firstByteMs: number | null;
  output: number;
  busyMs: number;
  cached: number;
  input: number;
}

const SLOTS = 12;
const HOUR_MS = 3_600_000;
const SLOT_MS = HOUR_MS / SLOTS;
/** The newest requests that are read at most. */
const MAX_READ = 2_000;

/** Reads the last hour of each provider that answered in it, by name. */
export function createProviderTrendsReader(db: Db): (now: number) => ProviderTrend[] {
  const select = db.prepare<{ first: number; from: number }, Piece>(`
    SELECT v.name AS provider, (r.at - CAST(@from AS INTEGER)) / ${SLOT_MS} AS slot,
    avg(r.first_byte_ms) AS firstByteMs, sum(r.output_tokens) AS output, sum(r.duration_ms) AS busyMs,
    sum(r.cached_input_tokens) AS cached, sum(r.input_tokens) AS input
    FROM request_log r JOIN names v ON v.id = r.provider_id
    WHERE r.id >= @first AND r.at >= @from AND r.id >= ${newestFrom(MAX_READ)}
      AND r.source = ${SOURCES.gw} AND r.provider_id <> 0 AND r.outcome = ${OUTCOMES.ok}
    GROUP BY r.provider_id, slot ORDER BY provider, slot`);
  return (now) => {
    const from = now - HOUR_MS;
    const trends = new Map<string, ProviderTrend>();
    for (const piece of select.all({ first: requestIdAt(from), from })) {
      const { provider, slot, firstByteMs, output, busyMs, cached, input } = piece;
      if (slot >= SLOTS) continue;
      const trend = remembered(trends, provider, () => newTrend(provider));
      trend.firstByteMs[slot] = firstByteMs;
      trend.tokensPerSecond[slot] = busyMs > 0 ? (output * 1_000) / busyMs : null;
      trend.cachedShare[slot] = input > 0 ? cached / input : null;
    }
    return [...trends.values()];
  };
}

function newTrend(provider: string): ProviderTrend {
  const none = () => Array.from({ length: SLOTS }, () => null);
  return { provider, firstByteMs: none(), tokensPerSecond: none(), cachedShare: none() };
}
