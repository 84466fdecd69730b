# Whether the kernel is one that the driver is written for. The worst states of services.yaml are reasoned
# from the source of these versions, and the driver reaches into run queues, wait queues and heaps as
# they have them: with another one it might build and run, and drive states that are no worst ones.
#
# By itself: cmake -DKERNEL_VERSION_STRING=3.7.1 -P version.cmake
cmake_minimum_required(VERSION 3.20.0)
set(wcet_versions 3.7)

if(NOT DEFINED KERNEL_VERSION_STRING)
  message(FATAL_ERROR
    "the version of Zephyr is not known: KERNEL_VERSION_STRING is not set\n"
    "expected: Zephyr ${wcet_versions}\n"
    "next: point ZEPHYR_BASE at the zephyr folder of such a workspace")
endif()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" wcet_found "${KERNEL_VERSION_STRING}")
if(NOT wcet_found IN_LIST wcet_versions)
  message(FATAL_ERROR
    "this is Zephyr ${KERNEL_VERSION_STRING}, for which the worst states of services.yaml are not known to be ones\n"
    "expected: Zephyr ${wcet_versions}\n"
    "next: point ZEPHYR_BASE at the zephyr folder of such a workspace; or go through the worst states with the "
    "source of this kernel, and add its version to version.cmake")
endif()
