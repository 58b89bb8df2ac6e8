import { and, eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Db } from '../database/open.ts';
import { priceOverrides } from '../database/schema.ts';
import { changeConfiguration } from '../database/write.ts';

/** A price that the user set: integer pico-USD per token (1 USD per million tokens = 1,000,000). */
export interface StoredPrice {
  /** Empty: whatever the provider. */
  provider: string;
  model: string;
  inputPicoUsd: number;
  outputPicoUsd: number;
  cachedInputPicoUsd?: number;
  cacheWritePicoUsd?: number;
  /** For each request, beside its tokens. */
  requestPicoUsd?: number;
}

/** Sets a price; it replaces the one that was set before. */
export async function setPrice(db: Db, price: StoredPrice, now: number): Promise<void> {
  const { provider, model, ...rates } = price;
  const values = { provider, model, rates: JSON.stringify(rates), updatedAt: now };
  changeConfiguration(db, () =>
    drizzle(db)
      .insert(priceOverrides)
      .values(values)
      .onConflictDoUpdate({ target: [priceOverrides.provider, priceOverrides.model], set: values })
      .run(),
  );
}

/** Forgets a price that was set; false if there was none. */
export async function removePrice(db: Db, provider: string, model: string): Promise<boolean> {
  const result = changeConfiguration(db, () =>
    drizzle(db)
      .delete(priceOverrides)
      .where(and(eq(priceOverrides.provider, provider), eq(priceOverrides.model, model)))
      .run(),
  );
  return result.changes > 0;
}

/** The prices that were set, by provider and model. */
export async function listPrices(db: Db): Promise<StoredPrice[]> {
  return drizzle(db)
    .select()
    .from(priceOverrides)
    .all()
    .map(({ provider, model, rates }) => ({
      provider,
      model,
      ...(JSON.parse(rates) as Omit<StoredPrice, 'provider' | 'model'>),
    }));
}
