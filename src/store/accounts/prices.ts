import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';

/** A price that the user set: integer pico-USD per token (1 USD per million tokens = 1,000,000). */
export interface StoredPrice {
  /** Empty: any provider. */
  provider: string;
  model: string;
  /** Undefined for both if the model is priced otherwise. */
  inputPicoUsd?: number | undefined;
  outputPicoUsd?: number | undefined;
  cachedInputPicoUsd?: number | undefined;
  cacheWritePicoUsd?: number | undefined;
  /** Written with a lifetime of an hour. */
  cacheWrite1hPicoUsd?: number | undefined;
  /** For each request, in addition to its tokens. */
  requestPicoUsd?: number | undefined;
  /** For each picture, for each second of sound or film, for each character that is spoken. */
  imagePicoUsd?: number | undefined;
  secondPicoUsd?: number | undefined;
  characterPicoUsd?: number | undefined;
}

type Rates = Omit<StoredPrice, 'provider' | 'model'>;

/** Sets a price, or replaces the one that was set before. */
export async function setPrice(db: Db, price: StoredPrice, now: number): Promise<void> {
  const { provider, model, ...rates } = price;
  changeConfiguration(db, () =>
    db
      .prepare<[string, string, string, number]>(`
        INSERT INTO price_overrides (provider, model, rates, updated_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (provider, model) DO UPDATE SET rates = excluded.rates, updated_at = excluded.updated_at`)
      .run(provider, model, JSON.stringify(rates), now),
  );
}

/** Removes a price that was set; false if there was none. */
export async function removePrice(db: Db, provider: string, model: string): Promise<boolean> {
  const { changes } = changeConfiguration(db, () =>
    db.prepare('DELETE FROM price_overrides WHERE provider = ? AND model = ?').run(provider, model),
  );
  return changes > 0;
}

/** The prices that were set, by provider and model. */
export async function listPrices(db: Db): Promise<StoredPrice[]> {
  return db
    .prepare<[], { provider: string; model: string; rates: string }>(`SELECT provider, model, rates
      FROM price_overrides ORDER BY provider, model`)
    .all()
    .map(({ provider, model, rates }) => ({ provider, model, ...(JSON.parse(rates) as Rates) }));
}
