/* Values of the begin and end marks. services.yaml repeats them; a test compares the two. */
#ifndef SERVICE_IDS_H
#define SERVICE_IDS_H

#define SERVICE_K_SEM_INIT 1
#define SERVICE_K_SEM_GIVE 2
#define SERVICE_K_SEM_GIVE_WAITER 3
#define SERVICE_K_SEM_GIVE_SWITCH 4
#define SERVICE_K_SEM_TAKE 5

#endif
