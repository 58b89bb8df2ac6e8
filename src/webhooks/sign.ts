import { createHmac } from 'node:crypto';
import { type Random, systemRandom } from '../ids.ts';

/** How long the old secret stays valid after a rotation. */
export const ROTATION_MS = 24 * 3_600_000;

const PREFIX = 'whsec_';

/** A new signing secret in the format of Standard Webhooks: `whsec_` and 256 random bits in base64. */
export function newWebhookSecret(random: Random = systemRandom): string {
  return `${PREFIX}${random(32).toString('base64')}`;
}

export interface Signable {
  /** The event's id: the same on every attempt. */
  id: string;
  /** Unix seconds of this attempt. */
  timestamp: number;
  /** The body's bytes on the wire. */
  body: Buffer;
  /** The secret, plus the old one during a rotation. */
  secrets: readonly string[];
}

/**
 * Headers with which a receiver verifies a delivery, in two schemes: `x-service-signature` in Stripe's
 * (https://docs.stripe.com/webhooks#verify-manually), and Standard Webhooks (https://www.standardwebhooks.com).
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

/** Signs `timestamp.body`. The key is the secret as text. */
function serviceSignature(secret: string, timestamp: number, body: Buffer): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
}

/** Signs `id.timestamp.body`. The key is the decoded secret. */
function standardSignature(secret: string, id: string, timestamp: number, body: Buffer): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
}
