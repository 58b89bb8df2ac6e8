import { createHmac } from 'node:crypto';
import { type Random, systemRandom } from '../ids.ts';

/** How long the secret before a rotation keeps signing. */
export const ROTATION_MS = 24 * 3_600_000;

const PREFIX = 'whsec_';

/** A new signing secret: `whsec_` and 256 random bits in base 64, as Standard Webhooks writes them. */
export function newWebhookSecret(random: Random = systemRandom): string {
  return `${PREFIX}${random(32).toString('base64')}`;
}

export interface Signable {
  /** The event's id: the same on every attempt. */
  id: string;
  /** Unix seconds of this attempt. */
  timestamp: number;
  /** The bytes that are sent. */
  body: Buffer;
  /** The secret, and during a rotation the one before. */
  secrets: readonly string[];
}

/**
 * The headers that let a receiver verify a delivery, in two families: `x-service-signature` in Stripe's scheme
 * (https://docs.stripe.com/webhooks#verify-manually) and https://www.standardwebhooks.com.
 */
export function signatureHeaders({ id, timestamp, body, secrets }: Signable): Record<string, string> {
  const service = secrets.map((secret) => `v1=${serviceSignature(secret, timestamp, body)}`);
  const standard = secrets.map((secret) => `v1,${standardSignature(secret, id, timestamp, body)}`);
  return {
    'x-service-signature': [`t=${timestamp}`, ...service].join(','),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.join(' '),
  };
}

/** The whole secret is the key, and `timestamp.body` is signed. */
function serviceSignature(secret: string, timestamp: number, body: Buffer): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
}

/** What the secret encodes is the key, and `id.timestamp.body` is signed. */
function standardSignature(secret: string, id: string, timestamp: number, body: Buffer): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
}
