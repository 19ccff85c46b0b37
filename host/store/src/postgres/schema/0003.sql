-- Two gateways that call themselves the same are noticed: each row says which process wrote it last.

-- `process` is the epoch of one at work, and a number by chance, below zero, of one that waits. `doubled` is when one that had
-- written before found that another one had since, so that both run.
alter table node
    add column process bigint not null default 0,
    add column doubled timestamptz;
