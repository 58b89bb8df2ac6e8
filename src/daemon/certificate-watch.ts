import { statSync } from 'node:fs';
import { readTls, type TlsIdentity, type TlsSettings } from '../config/tls.ts';
import { messageOf } from '../errors.ts';

export interface CertificateWatchOptions {
  settings: TlsSettings;
  now: () => number;
  /** Called with a certificate that has replaced the previous one. */
  onRenewed: (tls: TlsIdentity) => void;
  warn: (message: string) => void;
}

/**
 * Returns a check for new certificate files. A pair that can't be used, such as one that is half replaced, leaves the
 * previous one in force.
 */
export function createCertificateWatch({
  settings,
  now,
  onRenewed,
  warn,
}: CertificateWatchOptions): () => void {
  const files = [settings['server.tls_cert'], settings['server.tls_key']].filter((file) => file !== '');
  const stamp = () =>
    files.map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat && `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    });
  let last = String(stamp());
  return () => {
    const current = String(stamp());
    if (current === last) return;
    last = current;
    try {
      const tls = readTls(settings, now());
      if (tls) onRenewed(tls);
    } catch (error) {
      warn(`the new certificate is not used: ${messageOf(error)}`);
    }
  };
}
