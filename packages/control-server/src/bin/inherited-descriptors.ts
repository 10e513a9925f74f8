import { closeSync, readFileSync, readdirSync } from 'node:fs';

const DESCRIPTORS = '/proc/self/fdinfo';
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes what this process inherited beyond its standard streams. Somebody's pipe that is open in a process that lives on looks
 * to its reader as if there were more to come. Node marks close-on-exec what it opens itself, and what it finds at its start next
 * to the standard streams, so what is not marked lies further up and came from the parent. Only where the system lists
 * descriptors (Linux).
 */
export function closeInheritedDescriptors(): void {
  for (const fd of openDescriptors()) {
    if (fd > 2 && isInherited(fd)) closeSync(fd);
  }
}

function openDescriptors(): number[] {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch {
    return [];
  }
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`${DESCRIPTORS}/${String(fd)}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor with which the folder was read is gone by now.
    return false;
  }
}
